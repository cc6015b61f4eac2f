// The queue and the ledger: a collector that drops, repeats and delays, processes that die, two at once.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { lstat, mkdtemp, readdir, readFile, readlink, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import { loadSurvey, newSecret, Queue, simulatedSurvey } from "../../../src/confide/studio/client/confide.js";
import { fileStorage } from "./storage.mjs";
import { AGES, signed } from "./suite.mjs";

const folder = await mkdtemp(join(tmpdir(), "confide-"));
let number = 0;
const fresh = () => fileStorage(join(folder, `kept-${number++}.json`));
const survey = loadSurvey(await signed(AGES));
const limited = async (limits, more = {}) => loadSurvey(await signed({ ...AGES, ...more, limits }));

const open = []; // collectors of a test; one left open keeps Node from ending, also where the test failed
afterEach(() => open.splice(0).forEach((server) => server.closeAllConnections() ?? server.close()));

/** Moves the clock so many seconds ahead while something runs. */
async function later(seconds, run) {
  const now = Date.now;
  Date.now = () => now() + 1000 * seconds;
  return run().finally(() => (Date.now = now));
}

/** A collector in few words, until the test ends: counts each batch once, and behaves as a script says. */
async function collector(script = () => null) {
  const counted = new Map();
  const seen = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => (body += part));
    request.on("end", () => {
      const message = JSON.parse(body);
      seen.push({ message, headers: request.headers, path: request.url, method: request.method });
      const answer = { survey: message.survey, batch: message.batch, accepted: 1, rejected: [] };
      const say = (status, content = answer, headers = {}) => {
        response.writeHead(status, { "content-type": "application/json", ...headers });
        response.end(JSON.stringify(content));
      };
      const count = () => counted.set(message.batch, JSON.stringify(message));
      const did = script({ seen, message, say, count, request, response });
      if (did !== null) return;
      count();
      say(200);
    });
  });
  open.push(server);
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${server.address().port}`, counted, seen };
}

async function filled(count, own = survey, storage = fresh()) {
  const queue = new Queue(own, { storage });
  for (let i = 0; i < count; i++) await queue.add(own.blur(own.take(i % 20)));
  return queue;
}

test("a message has a survey, a batch, a day and a report, and nothing else is sent", async () => {
  const server = await collector();
  const queue = await filled(1);
  const report = JSON.parse(await readFile(join(folder, `kept-${number - 1}.json`))).queue[0].reports[0];
  assert.deepEqual(await queue.send(server.url, { token: "t", invitation: "i" }), { sent: 1, refused: [], left: 0 });
  const [{ message, headers, path, method }] = server.seen;
  assert.deepEqual(Object.keys(message).sort(), ["batch", "day", "reports", "survey"]);
  assert.match(message.batch, /^[0-9a-f]{32}$/);
  assert.match(message.day, /^\d{4}-\d\d-\d\d$/);
  assert.deepEqual(
    [message.survey, message.reports, path, method],
    [survey.fingerprint, [report], "/v1/reports", "POST"],
  );
  assert.deepEqual(
    [headers.authorization, headers["confide-invitation"], headers.cookie, headers.referer],
    ["Bearer t", "i", undefined, undefined],
  );
});

test("answers that are dropped, broken off or late: every report is counted once", async () => {
  let turn = 0;
  const server = await collector(({ count, response, say }) => {
    turn++;
    if (turn % 4 === 1) return void response.destroy(); // not counted
    count();
    if (turn % 4 === 2) return void response.destroy(); // counted, not answered
    if (turn % 4 === 3)
      return void (response.writeHead(200, { "content-length": 500 }),
      response.write('{"acc'),
      setTimeout(() => response.destroy(), 5));
    return void setTimeout(say, 20, 200);
  });
  const queue = await filled(12);
  let sent = 0;
  for (let tries = 0; sent < 12; tries++) {
    assert.ok(tries < 100);
    const result = await queue.send(`${server.url}/`);
    sent += result.sent;
    if (result.left) assert.equal(result.reason, "offline");
  }
  assert.equal(server.counted.size, 12);
  for (const { message } of server.seen) assert.equal(JSON.stringify(message), server.counted.get(message.batch)); // the same message each time
});

test("without a network reports stay, also over a restart", async () => {
  const storage = fresh();
  const queue = await filled(3, survey, storage);
  const { sent, left, reason } = await queue.send("http://127.0.0.1:9");
  assert.deepEqual({ sent, left, reason }, { sent: 0, left: 3, reason: "offline" });
  const server = await collector();
  assert.deepEqual(await new Queue(survey, { storage }).send(server.url), { sent: 3, refused: [], left: 0 });
});

test("Retry-After is obeyed, also by the next process", async () => {
  const storage = fresh();
  const server = await collector(({ say, seen }) =>
    seen.length === 1 ? void say(429, { error: { message: "busy" } }, { "retry-after": "2" }) : null,
  );
  const queue = await filled(2, survey, storage);
  assert.deepEqual(await queue.send(server.url), { sent: 0, refused: [], left: 2, reason: "busy", retryAfter: 2 });
  const again = await new Queue(survey, { storage }).send(server.url);
  assert.ok(again.retryAfter <= 2 && again.left === 2 && server.seen.length === 1);
  await later(2.05, async () => assert.equal((await queue.send(server.url)).sent, 2));
});

test("a wait is at least a second and at most a day, and a minute where nobody says how long", async () => {
  for (const [said, seconds] of [
    ["1", 1],
    ["0", 60],
    ["0.5", 1],
    ["2.5", 3],
    ["3600", 3600],
    ["3601", 3601],
    ["86400", 86_400],
    ["86401", 86_400],
    ["-5", 1],
    ["soon", 60],
    [undefined, 60],
  ]) {
    const server = await collector(({ say }) => void say(503, {}, said && { "retry-after": said }));
    const queue = await filled(1);
    assert.equal((await queue.send(server.url)).retryAfter, seconds, `retry-after: ${said}`);
    // And nothing is asked before it is over.
    await later(seconds - 1, async () => assert.ok((await queue.send(server.url)).retryAfter <= 1));
    assert.equal(server.seen.length, 1);
    await later(seconds, () => queue.send(server.url));
    assert.equal(server.seen.length, 2);
  }
});

test("conflicts, refusals, rejections and closed surveys are told and dropped; what can be mended is kept", async () => {
  for (const [status, content, told, left] of [
    [409, { error: { code: "c", message: "conflict" } }, ["conflict", "conflict"], 0],
    [422, { error: { code: "c", message: "no such day" } }, ["no such day", "no such day"], 0],
    [
      200,
      (message) => ({
        survey: message.survey,
        batch: message.batch,
        accepted: 0,
        rejected: [{ position: 0, reason: "outside the alphabet" }],
      }),
      ["outside the alphabet", "outside the alphabet"],
      0,
    ],
    [410, { error: { code: "c", message: "closed" } }, ["closed"], 0],
    [400, { error: { code: "c", message: "no batch" } }, ["no batch", "no batch"], 0],
    [413, { error: { code: "c", message: "too large" } }, ["too large", "too large"], 0],
    [415, { error: { code: "c", message: "no JSON" } }, ["no JSON", "no JSON"], 0],
    [401, { error: { code: "c", message: "token" } }, [], 2],
    [403, { error: { code: "c", message: "invitation" } }, [], 2],
    [404, { error: { code: "c", message: "survey" } }, [], 2],
    [429, { error: { code: "c", message: "busy" } }, [], 2],
    [500, { error: { code: "c", message: "broken" } }, [], 2],
    [404, null, [], 2],
    [400, "<html>", [], 2],
    [400, { error: "bad request" }, [], 2],
    [410, {}, [], 2],
    [200, {}, [], 2],
    [200, null, [], 2],
    [200, { accepted: 1, rejected: [] }, [], 2],
    [200, (message) => ({ survey: message.survey, batch: "0".repeat(32), accepted: 1, rejected: [] }), [], 2],
    [200, (message) => ({ survey: message.survey, batch: message.batch, accepted: 0, rejected: [] }), [], 2],
    [200, (message) => ({ survey: message.survey, batch: message.batch, accepted: 0, rejected: { length: 1 } }), [], 2],
    [200, (message) => ({ survey: message.survey, batch: message.batch, accepted: 0, rejected: "x" }), [], 2],
    [503, "busy", [], 2],
    [301, {}, [], 2],
  ]) {
    const server = await collector(
      ({ say, message }) =>
        void say(
          status,
          typeof content === "function" ? content(message) : content,
          status === 301 ? { location: "http://127.0.0.1:9/" } : {},
        ),
    );
    const queue = await filled(2);
    const result = await queue.send(server.url);
    assert.deepEqual([result.sent, result.refused, result.left], [0, told, left], `status ${status} ${content}`);
    assert.equal((await queue.status()).waiting, left);
    assert.equal(result.reason === undefined, left === 0);
    assert.equal(
      result.retryAfter !== undefined,
      left > 0 && status !== 301 && (status === 200 || ![401, 403, 404].includes(status)),
    ); // who must mend it need not wait
    assert.equal(server.seen.length, left ? 1 : status === 410 ? 1 : 2); // and no further report goes where one was not taken
  }
});

test("an answer costs a report only where each of its fields is about that report", async () => {
  const changes = {
    survey: ["0".repeat(32), undefined, null, ""],
    batch: ["0".repeat(32), undefined, null, ""],
    accepted: [2, -1, 0, "1", true, null, undefined, 0.5],
    rejected: [null, undefined, {}, "", [{ position: 0, reason: "x" }]],
  };
  for (const [name, values] of Object.entries(changes)) {
    for (const value of values) {
      const server = await collector(({ say, message }) => {
        const answer = { survey: message.survey, batch: message.batch, accepted: 1, rejected: [] };
        return void say(200, { ...answer, [name]: value });
      });
      const queue = await filled(1);
      const { sent, refused, left } = await queue.send(server.url);
      assert.deepEqual({ sent, refused, left }, { sent: 0, refused: [], left: 1 }, `${name}: ${value}`);
    }
  }
});

test("a redirect is not followed: no other site gets a report", async () => {
  const other = await collector();
  const server = await collector(({ say }) => void say(307, {}, { location: `${other.url}/v1/reports` }));
  const { sent, left, reason } = await (await filled(1)).send(server.url);
  assert.deepEqual([sent, left, reason, other.seen.length], [0, 1, "offline", 0]);
});

test("requests are made as they must be, to the last option", async () => {
  const own = globalThis.fetch;
  const made = [];
  globalThis.fetch = async (url, options) => (made.push([String(url), options]), new Response("{}", { status: 404 }));
  try {
    const queue = await filled(1);
    for (const options of [undefined, { token: "t" }, { invitation: "i" }])
      await queue.send("https://collector.example/a//", options);
  } finally {
    globalThis.fetch = own;
  }
  const headers = { "content-type": "application/json" };
  const wanted = [headers, { ...headers, authorization: "Bearer t" }, { ...headers, "confide-invitation": "i" }];
  for (const [index, [url, { signal, body, ...options }]] of made.entries()) {
    assert.equal(url, "https://collector.example/a/v1/reports");
    assert.deepEqual(options, {
      method: "POST",
      headers: wanted[index],
      keepalive: true,
      credentials: "omit",
      redirect: "error",
      referrerPolicy: "no-referrer",
    });
    assert.ok(signal instanceof AbortSignal);
    assert.deepEqual(Object.keys(JSON.parse(body)), ["survey", "batch", "day", "reports"]);
  }
  assert.equal(made.length, 3);
});

test("two surveys in one storage: each has its own ledger, sends its own reports, and closes alone", async () => {
  const storage = fresh();
  const one = await limited({ reports: 2 });
  const other = await limited({ epsilon: 2 }, { alphabet: { kind: "integers", low: 18, high: 67, unit: "year" } });
  const queues = [await filled(2, one, storage), new Queue(other, { storage })];
  for (const value of [18, 67]) await queues[1].add(other.blur(other.take(String(value))));
  for (const [queue, own] of [
    [queues[0], one],
    [queues[1], other],
  ])
    await assert.rejects(queue.add(own.blur(20)), { code: "limit" });
  const states = async () => Promise.all(queues.map((queue) => queue.status()));
  assert.deepEqual(await states(), Array(2).fill({ waiting: 2, reports: 2, epsilon: 2 }));
  const open = await collector();
  assert.deepEqual(await queues[0].send(open.url), { sent: 2, refused: [], left: 0 });
  assert.deepEqual(new Set(open.seen.map(({ message }) => message.survey)), new Set([one.fingerprint]));
  assert.equal((await states())[1].waiting, 2);
  await assert.rejects(queues[0].add(one.blur(7)), { code: "limit" });
  const again = await limited({ reports: 1 }); // which stays when the other closes
  const third = new Queue(again, { storage });
  await third.add(again.blur(7));
  const closed = await collector(({ say }) => void say(410, { error: { code: "closed", message: "closed" } }));
  assert.deepEqual(await queues[1].send(closed.url), { sent: 0, refused: ["closed"], left: 0 });
  assert.deepEqual([(await third.status()).waiting, (await queues[1].status()).waiting], [1, 0]);
});

test("a total epsilon counts values of permanent noise once, and reports of fresh noise each", async () => {
  const two = await limited({ epsilon: 2 });
  const queue = new Queue(two, { storage: fresh() });
  const permanent = newSecret();
  for (let day = 0; day < 5; day++) await queue.add(two.blur(7, { permanent }));
  assert.deepEqual(await queue.status(), { waiting: 5, reports: 1, epsilon: 1 });
  await queue.add(two.blur(7));
  await queue.add(two.blur(7, { permanent })); // which costs nothing more
  for (const report of [two.blur(7), two.blur(8, { permanent })])
    await assert.rejects(queue.add(report), { code: "limit", message: "One person may give epsilon 2 at most." });
  assert.deepEqual(await queue.status(), { waiting: 7, reports: 2, epsilon: 2 });
});

test("a queue holds no more than it may, and nothing but reports", async () => {
  const queue = new Queue(survey, { storage: fresh(), most: 2 });
  await queue.add(survey.blur(1));
  await queue.add(survey.blur(1));
  await assert.rejects(queue.add(survey.blur(1)), { code: "full" });
  const other = loadSurvey(await signed({ ...AGES, mechanism: { kind: "geometric", epsilon: 1 } }));
  for (const wrong of [7, { survey: survey.fingerprint, data: 7, tag: null }, other.blur(7), { ...survey.blur(7) }]) {
    await assert.rejects(queue.add(wrong), { code: "report" });
  }
  assert.deepEqual(await queue.status(), { waiting: 2, reports: 2, epsilon: 2 });
});

test("a queue of no known length holds nothing", async () => {
  for (const most of ["x", NaN, -1, {}])
    await assert.rejects(
      new Queue(survey, { storage: fresh(), most }).add(survey.blur(1)),
      { code: "full" },
      String(most),
    );
});

test("a collector that says nothing, or stops in the middle, is not waited for without end", {
  timeout: 20_000,
}, async () => {
  const own = AbortSignal.timeout;
  const waits = [];
  AbortSignal.timeout = (wait) => (waits.push(wait), own(100));
  try {
    for (const begin of [() => undefined, (response) => (response.writeHead(200), response.write('{"acc'))]) {
      const server = await collector(({ response }) => void begin(response));
      const { sent, left, reason } = await (await filled(1)).send(server.url);
      assert.deepEqual([sent, left, reason], [0, 1, "offline"]);
    }
  } finally {
    AbortSignal.timeout = own;
  }
  assert.deepEqual(waits, [60_000, 60_000]);
});

test("what was made is what is sent: no report can be changed", async () => {
  const plane = loadSurvey(
    await signed({ alphabet: { kind: "grid", rows: 9, columns: 9 }, mechanism: { kind: "taxicab", epsilon: 1 } }),
  );
  const report = plane.blur([4, 4]);
  assert.ok(Array.isArray(report.data));
  assert.throws(() => (report.data[0] = 7), TypeError);
  assert.throws(() => (report.data = [7, 7]), TypeError);
});

test("groups are those of the survey, all of them and no others", async () => {
  const server = await collector();
  const towns = loadSurvey(await signed({ ...AGES, groups: { town: ["Oslo", "Bern"], sex: ["f", "m"] } }));
  const queue = new Queue(towns, { storage: fresh() });
  const wrong = [
    undefined,
    {},
    { town: "Oslo" },
    { town: "Oslo", sex: "x" },
    { town: "Oslo", sex: "f", age: "3" },
    { town: ["Oslo"], sex: "f" },
    { town: "Oslo", toString: "f" },
  ];
  for (const groups of wrong) await assert.rejects(queue.add(towns.blur(7), groups), { code: "report" });
  await assert.rejects(new Queue(survey, { storage: fresh() }).add(survey.blur(7), { town: "Oslo" }), {
    code: "report",
  });
  await queue.add(towns.blur(7), { sex: "f", town: "Bern" });
  assert.equal((await queue.send(server.url)).sent, 1);
  assert.deepEqual(server.seen[0].message.groups, { sex: "f", town: "Bern" });
  assert.deepEqual((await queue.status()).reports, 1); // what was refused costs nothing
});

test("the ledger enforces limits, and is not reset by sending or a restart", async () => {
  const server = await collector();
  const storage = fresh();
  const three = await limited({ reports: 3 });
  const queue = await filled(3, three, storage);
  await queue.send(server.url);
  await assert.rejects(new Queue(three, { storage }).add(three.blur(1)), { code: "limit" });
  // Thirty times 0.05 is 1.5, and not a trifle more, as float64 has it.
  const total = await limited({ epsilon: 1.5 }, { mechanism: { kind: "truncated-geometric", epsilon: 0.05 } });
  const other = await filled(30, total, storage);
  await assert.rejects(other.add(total.blur(1)), { code: "limit" });
  assert.equal((await other.status()).epsilon, 1.5);
});

test("permanent noise of one value costs once; surveys under one pin share its page", async () => {
  const storage = fresh();
  const once = await limited({ reports: 2, noise: "permanent" });
  const queue = new Queue(once, { storage });
  const permanent = newSecret();
  for (let day = 0; day < 20; day++) await queue.add(once.blur(7, { permanent }));
  await queue.add(once.blur(8, { permanent }));
  await assert.rejects(queue.add(once.blur(9, { permanent })), { code: "limit" });
  const text = await readFile(join(folder, `kept-${number - 1}.json`), "utf8");
  assert.ok(
    !text.includes(permanent) && !/"values":\{"?[0-9]{1,2}"?:/.test(text),
    "neither the secret nor a value is kept",
  );
  const pin = { epsilon: 1, per: "year", reports: 3 };
  const surveys = await Promise.all(
    [19, 20, 21, 22].map(async (high) =>
      loadSurvey(await signed({ ...AGES, alphabet: { ...AGES.alphabet, high } }), pin),
    ),
  );
  for (const one of surveys.slice(0, 3)) await new Queue(one, { storage }).add(one.blur(1));
  await assert.rejects(new Queue(surveys[3], { storage }).add(surveys[3].blur(1)), { code: "limit" });
});

test("what cannot be read is an error, never an empty ledger", async () => {
  const page = (text) => `{"version":1,"pages":{"${survey.fingerprint}":${text}},"queue":[],"until":0,"wait":0}`;
  for (const text of [
    "",
    "null",
    "{}",
    "[]",
    "0",
    '{"version":1,"pages":[],"queue":[],"until":0,"wait":0}',
    '{"version":2,"pages":{},"queue":[],"until":0,"wait":0}',
    '{"pages":{},"queue":[],"until":0,"wait":0}',
    '{"version":1,"pages":{},"queue":{},"until":0,"wait":0}',
    '{"version":1,"pages":{},"queue":[],"until":"x","wait":0}',
    page("[]"),
    page('{"reports":-5,"values":{}}'),
    page('{"reports":"1","values":{}}'),
    page('{"reports":[],"values":{}}'),
    page('{"reports":1,"values":[]}'),
    page("null"),
    page('{"reports":1,"values":null}'),
    '{"version":1,"pages":null,"queue":[],"until":0,"wait":0}',
    '{"version":1,"pages":{},"queue":[null],"until":0,"wait":0}',
    '{"version":1,"pages":{},"queue":null,"until":0,"wait":0}',
    '{"version":1,"pages":{},"queue":[],"until":0,"wait":null}',
    '{"version":1,"pages":',
    page('{"reports":1,"values":{"a":-1}}'),
    page('{"reports":1,"values":{"a":0.5}}'),
    page('{"reports":1}'),
  ]) {
    let kept = text;
    const storage = { update: async (change) => void (kept = change(kept) ?? kept) };
    const message =
      "The storage fails: the ledger is damaged, or of another version, so that nobody knows what was reported. Restore it.";
    await assert.rejects(new Queue(survey, { storage }).add(survey.blur(1)), { code: "storage", message }, text);
    assert.equal(kept, text);
  }
  await assert.rejects(new Queue(survey, { storage: { update: async () => undefined } }).add(survey.blur(1)), {
    code: "storage",
  });
  const path = join(folder, "broken.json");
  await writeFile(path, '{"pages":');
  const queue = new Queue(survey, { storage: fileStorage(path) });
  await assert.rejects(queue.add(survey.blur(1)), { code: "storage" });
  assert.equal(await readFile(path, "utf8"), '{"pages":');
  assert.throws(() => new Queue(survey), { code: "storage" }); // Node has no storage of its own
});

test("a survey may ask every week", async () => {
  const weekly = loadSurvey(await signed({ ...AGES, every: "week" }));
  assert.notEqual(weekly.fingerprint, survey.fingerprint);
});

test("simulated reports are not queued", async () => {
  const simulated = simulatedSurvey(await signed(AGES), () => Math.floor(256 * Math.random()));
  await assert.rejects(new Queue(survey, { storage: fresh() }).add(simulated.blur(7)), { code: "report" });
  await assert.rejects(new Queue(survey, { storage: fresh() }).add(simulated.blur(7, { permanent: newSecret() })), {
    code: "report",
  });
});

test("under one pin the reports of two rounds and of permanent noise are counted together", async () => {
  const storage = fresh();
  const response = { kind: "randomized-response", epsilon: 1 };
  const pin = { epsilon: 1, reports: 3 };
  const of = async (mechanism) =>
    loadSurvey(await signed({ alphabet: { kind: "categories", values: ["a", "b"] }, mechanism }), pin);
  const [rounds, once] = [await of({ kind: "two-rounds", permanent: response, fresh: response }), await of(response)];
  const permanent = newSecret();
  for (let day = 0; day < 3; day++) await new Queue(rounds, { storage }).add(rounds.blur("a", { permanent }));
  for (const value of ["a", "b"])
    await assert.rejects(new Queue(once, { storage }).add(once.blur(value, { permanent })), { code: "limit" });
  await assert.rejects(new Queue(rounds, { storage }).add(rounds.blur("a", { permanent })), { code: "limit" });
});

test("under two rounds a value costs what any number of its reports promise, from the first on", async () => {
  const noise = (epsilon) => ({ kind: "truncated-geometric", epsilon });
  const limited = async (epsilon) =>
    loadSurvey(
      await signed({
        ...AGES,
        mechanism: { kind: "two-rounds", permanent: noise(0.05), fresh: noise(0.02) },
        limits: { epsilon },
      }),
    );
  const permanent = newSecret();
  const survey = await limited(0.1);
  assert.equal(survey.promise[0], "One report: 0.02 per year.");
  const queue = new Queue(survey, { storage: fresh() });
  for (let day = 0; day < 9; day++) {
    await queue.add(survey.blur(7, { permanent }));
    assert.deepEqual(await queue.status(), { waiting: day + 1, reports: day + 1, epsilon: 0.05 });
  }
  await queue.add(survey.blur(8, { permanent }));
  await assert.rejects(queue.add(survey.blur(9, { permanent })), { code: "limit" });
  await queue.add(survey.blur(8, { permanent }));
  await assert.rejects(limited(0.04), { code: "survey" }); // less than one value costs
});

test("reports of one value never tell more than the ledger counted", async () => {
  // Of 1,000 values one report promises 0.04, and five of them, all the value itself, tell two values apart by 1.96.
  const response = { kind: "randomized-response", epsilon: 2 };
  const alphabet = { kind: "integers", low: 0, high: 999 };
  const mechanism = { kind: "two-rounds", permanent: response, fresh: response };
  const survey = loadSurvey(await signed({ alphabet, mechanism, limits: { epsilon: 2 } }));
  const queue = new Queue(survey, { storage: fresh() });
  const permanent = newSecret();
  for (let number = 1; number < 9; number++) {
    await queue.add(survey.blur(7, { permanent }));
    const [x, y] = [Math.exp(2), Math.exp(2 * number)];
    assert((await queue.status()).epsilon >= Math.log((x * y + 999) / (x + y + 998)));
  }
});

test("a clock that is set back does not hold reports for a year", async () => {
  const server = await collector(({ say, seen }) =>
    seen.length === 1 ? void say(503, {}, { "retry-after": "1" }) : null,
  );
  const queue = await filled(1);
  await later(365 * 86_400, () => queue.send(server.url));
  assert.equal((await queue.send(server.url)).retryAfter, 1);
  await later(1.05, async () => assert.equal((await queue.send(server.url)).sent, 1));
});

test("a clock that stands before 1970 leaves a ledger that can be read", async () => {
  const server = await collector(({ say, seen }) =>
    seen.length === 1 ? void say(503, {}, { "retry-after": "1" }) : null,
  );
  const queue = await filled(1);
  await later(-80 * 365 * 86_400, async () => {
    assert.equal((await queue.send(server.url)).retryAfter, 1);
    assert.equal((await queue.send(server.url)).retryAfter, 1);
  });
  assert.equal((await queue.status()).waiting, 1);
  assert.equal((await queue.send(server.url)).sent, 1);
});

test("what could not be read again is not written", async () => {
  let kept = null;
  const storage = { update: async (change) => void (kept = change(kept)) };
  const queue = new Queue(survey, { storage });
  await queue.add(survey.blur(1));
  const before = JSON.parse(kept);
  before.pages[survey.fingerprint].reports = Number.MAX_SAFE_INTEGER;
  kept = JSON.stringify(before);
  await assert.rejects(queue.add(survey.blur(1)), { code: "storage" });
  assert.equal(kept, JSON.stringify(before));
  assert.equal((await queue.status()).reports, Number.MAX_SAFE_INTEGER);
});

test("only a message that a browser may keep alive is", async () => {
  const bits = loadSurvey(
    await signed({ alphabet: { kind: "integers", low: 1, high: 70_000 }, mechanism: { kind: "rappor", epsilon: 1 } }),
  );
  const own = globalThis.fetch;
  const alive = [];
  globalThis.fetch = async (_, { body, keepalive }) => (
    alive.push([body.length > 60_000, keepalive]), new Response("{}", { status: 404 })
  );
  try {
    for (const one of [bits, survey]) {
      const queue = new Queue(one, { storage: fresh() });
      await queue.add(one.blur(7));
      await queue.send("http://127.0.0.1:9");
    }
  } finally {
    globalThis.fetch = own;
  }
  assert.deepEqual(alive, [
    [true, false],
    [false, true],
  ]);
});

test("a database of another's, a blocked one and one that fails are errors, and no wait without end", async () => {
  const store = { get: () => ({}) };
  const failing = { transaction: () => ({ objectStore: () => store }), close: () => undefined };
  const none = () => {
    throw new DOMException("no such store", "NotFoundError");
  }; // as browsers do
  const other = { ...failing, transaction: none };
  for (const [event, database] of [
    ["onsuccess", other],
    ["onblocked", failing],
    ["onerror", failing],
  ]) {
    globalThis.indexedDB = {
      open: () => {
        const opening = { result: database, error: "broken" };
        setTimeout(() => opening[event]?.(), 1);
        return opening;
      },
    };
    try {
      const late = new Promise((done) => setTimeout(done, 500, "late"));
      const done = await Promise.race([new Queue(survey).add(survey.blur(7)).catch(({ code }) => code), late]);
      assert.equal(done, "storage", event);
    } finally {
      delete globalThis.indexedDB;
    }
  }
});

test("eight processes and a lock that a dead one left: each report that is told is kept", async () => {
  const text = await signed({ ...AGES, limits: { reports: 12 } });
  for (let run = 0; run < 3; run++) {
    const path = join(folder, `left-${run}.json`);
    const dead = spawn(process.execPath, ["-e", ""]);
    await new Promise((done) => dead.on("close", done));
    const host = `${hostname()} ${await readlink("/proc/self/ns/pid").catch(() => "")}`.trim();
    await writeFile(`${path}.lock`, JSON.stringify(["gone", host, dead.pid, ""]));
    const told = await Promise.all(Array.from({ length: 8 }, () => adding(path, text)));
    const { waiting, reports } = await new Queue(loadSurvey(text), { storage: fileStorage(path) }).status();
    const added = told.flat().filter((line) => line === "added").length;
    assert.deepEqual([added, waiting, reports], [12, 12, 12], JSON.stringify(told));
    assert.deepEqual(
      (await readdir(folder)).filter((name) => name.startsWith(`left-${run}`)),
      [`left-${run}.json`],
    );
  }
});

/** Runs processes that add reports until they are told no, some of which are killed on the way. */
function adding(path, text, killAfter) {
  return new Promise((done) => {
    const child = spawn(process.execPath, [fileURLToPath(new URL("adding.mjs", import.meta.url)), path, text]);
    let output = "";
    child.stdout.on("data", (part) => (output += part));
    child.on("close", () => done(output.trim().split("\n").filter(Boolean)));
    if (killAfter) setTimeout(() => child.kill("SIGKILL"), killAfter);
  });
}

test("processes that are killed and two at once: no more reports than allowed, none that is not counted", async () => {
  const path = join(folder, "shared.json");
  const text = await signed({ ...AGES, limits: { reports: 60 } });
  const own = loadSurvey(text);
  const made = await Promise.all([
    adding(path, text, 130),
    adding(path, text, 170),
    adding(path, text),
    adding(path, text),
  ]);
  const { waiting, reports } = await new Queue(own, { storage: fileStorage(path) }).status();
  assert.equal(reports, 60);
  assert.equal(waiting, 60); // ledger and queue are one write
  assert.ok(made.flat().filter((line) => line === "added").length <= 60);
  assert.ok(made[2].at(-1) === "limit" && made[3].at(-1) === "limit");
});

test("a link to a file of storage is that file", async () => {
  const [path, link] = [join(folder, "linked.json"), join(folder, "link.json")];
  await symlink(path, link); // to a file that is made with the first report
  for (const one of [link, path, link]) await new Queue(survey, { storage: fileStorage(one) }).add(survey.blur(1));
  assert.ok((await lstat(link)).isSymbolicLink());
  for (const one of [link, path])
    assert.equal((await new Queue(survey, { storage: fileStorage(one) }).status()).reports, 3);
});
