/** A file that keeps the queue and the ledger, for programs in Node and Deno. */
import { randomUUID } from "node:crypto";
import { link, open, readFile, readlink, realpath, rename, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import process from "node:process";
/** Milliseconds to wait for another process; no change takes a second. */
const PATIENCE = 60_000;
/** Keeps everything in one file: written beside it, synchronised and renamed, so that a crash leaves the old text or the new. */
export function fileStorage(path) {
    return {
        update: async (change) => {
            const place = await placeOf(path);
            await locked(`${place}.lock`, async () => {
                const text = change(await readFile(place, "utf8").catch(missing));
                if (text !== null)
                    await replace(place, text);
            });
        },
    };
}
/** The file itself: written by way of a link it would replace the link, and its limit would count twice. */
async function placeOf(path) {
    const found = await realpath(path).catch(missing);
    if (found !== null)
        return found;
    const target = await readlink(path).catch(() => null); // a link to a file that is not made yet
    return target === null ? path : placeOf(resolve(dirname(path), target));
}
/** No file is no text; any other failure is one. */
function missing(error) {
    if (error.code === "ENOENT")
        return null;
    throw error;
}
/**
 * Does work while a lock is ours. It is never taken from a process that lives, however long that sleeps. One that died
 * has an heir, who holds a lock of the dead one's own name: nobody else may remove what it left.
 */
async function locked(lock, work, base = lock) {
    const id = randomUUID();
    const own = JSON.stringify([id, await thisHost(), process.pid, await startOf(process.pid)]);
    const end = Date.now() + PATIENCE;
    while (!(await seize(lock, own, id))) {
        const held = await readFile(lock, "utf8").catch(missing);
        if (held === null)
            continue;
        const [holder, host, pid, start] = holderIn(held);
        if (await isGone(host, pid, start)) {
            const inherit = async () => {
                // Looked at again: it may have been removed before, and be held by one who lives.
                if ((await readFile(lock, "utf8").catch(missing)) === held)
                    await rm(lock, { force: true });
            };
            await locked(`${base}.${holder}`, inherit, base);
        }
        else if (Date.now() > end) {
            throw new Error(`process ${pid} on ${host} holds ${lock}; if there is no such program any more, remove this file`);
        }
        else
            await pause(2 + (Date.now() % 5));
    }
    try {
        await work();
    }
    finally {
        await rm(lock, { force: true });
    }
}
/** The id, machine, number and start of the process that holds a lock; of one that is not understood nobody knows. */
function holderIn(text) {
    try {
        const [id, host, pid, start] = JSON.parse(text);
        return [id, host, pid, start];
    }
    catch {
        return ["", "an unknown machine", 0, ""];
    }
}
/** This machine, or the container on it, in which processes have numbers of their own. */
async function thisHost() {
    return `${hostname()} ${await readlink("/proc/self/ns/pid").catch(() => "")}`.trim();
}
/** Makes a lock, with all that it says, unless there is one. */
async function seize(lock, own, id) {
    const fresh = `${lock}.${id}.new`;
    await writeFile(fresh, own);
    try {
        await link(fresh, lock);
        return true;
    }
    catch (error) {
        if (error.code === "EEXIST")
            return false;
        throw error;
    }
    finally {
        await rm(fresh, { force: true });
    }
}
/** Whether a process has ended for certain; of another machine or container nobody can tell. */
async function isGone(host, pid, start) {
    if (host !== (await thisHost()))
        return false;
    try {
        process.kill(pid, 0);
    }
    catch (error) {
        return error.code === "ESRCH";
    }
    // Another one may have its number by now.
    const now = await startOf(pid);
    return start !== "" && now !== "" && start !== now;
}
/** When a process began, in ticks since the machine did, where the system says so; the 20th number behind its name. */
async function startOf(pid) {
    const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
    return text.slice(text.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}
/** Written by whoever holds the lock, so that one name is enough, and a crash leaves one file at most. */
async function replace(path, text) {
    const fresh = `${path}.new`;
    await rm(fresh, { force: true });
    const file = await open(fresh, "wx", 0o600);
    try {
        await file.writeFile(text);
        await file.sync();
    }
    finally {
        await file.close();
    }
    await rename(fresh, path);
    const folder = await open(dirname(path) || ".", "r");
    await folder.sync().catch(() => undefined); // not every system lets a folder be synchronised
    await folder.close();
}
