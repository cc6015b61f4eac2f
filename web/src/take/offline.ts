/** The service worker of the page that takes part: the network first, and without one what was kept. It sends nothing of its own. */
const KEPT = "confide take";
const PATIENCE = 4000;
const worker = self as unknown as WorkerScope;

/** What is needed of a service worker; the compiler's own types of it and of pages do not go together. */
interface WorkerScope {
  skipWaiting(): Promise<void>;
  readonly clients: { claim(): Promise<void> };
  readonly location: Location;
  addEventListener(
    kind: "install" | "activate",
    does: (event: { waitUntil(work: Promise<unknown>): void }) => void,
  ): void;
  addEventListener(
    kind: "fetch",
    does: (event: { request: Request; respondWith(answer: Promise<Response>): void }) => void,
  ): void;
}

worker.addEventListener("install", (event) => event.waitUntil(worker.skipWaiting()));
worker.addEventListener("activate", (event) => event.waitUntil(worker.clients.claim()));
worker.addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  // Reports go by themselves: the page's queue knows what became of them.
  if (method === "GET" && new URL(url).origin === worker.location.origin) event.respondWith(fresh(event.request));
});

/** The network's answer, kept for later; without one, or where it takes too long, what was kept. */
async function fresh(request: Request): Promise<Response> {
  const cache = await caches.open(KEPT);
  const asked = fetch(request).then(async (answer) => {
    if (answer.ok) await cache.put(request, answer.clone());
    return answer;
  });
  const kept = await cache.match(request, { ignoreVary: true });
  if (!kept) return asked;
  const late = new Promise<Response>((done) => setTimeout(() => done(kept), PATIENCE));
  return Promise.race([asked.catch(() => kept), late]);
}
