/** A file that keeps the queue and the ledger, for programs in Node and Deno. */
import { randomUUID } from "node:crypto";
import { open, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import process from "node:process";
/** After so many milliseconds a lock is taken for one that was forgotten, whoever's it is: no change takes a second. */
const STALE = 60_000;
/** Keeps everything in one file: written beside it, synchronised and renamed, so that a crash leaves the old text or the new. */
export function fileStorage(path) {
    return {
        update: async (change) => {
            const lock = `${path}.lock`;
            const own = await seize(lock);
            try {
                const text = change(await readFile(path, "utf8").catch(missing));
                if (text !== null)
                    await replace(path, text);
            }
            finally {
                // Only if it is still ours: a lock that was taken from us after a long sleep is another's.
                if ((await readFile(lock, "utf8").catch(missing)) === own)
                    await rm(lock, { force: true });
            }
        },
    };
}
/** No file is no text; any other failure is one. */
function missing(error) {
    if (error.code === "ENOENT")
        return null;
    throw error;
}
async function seize(lock) {
    const own = `${process.pid} ${randomUUID()}`;
    for (;;) {
        try {
            const file = await open(lock, "wx");
            await file.writeFile(own);
            await file.close();
            return own;
        }
        catch (error) {
            if (error.code !== "EEXIST")
                throw error;
        }
        const [holder, made] = [await readFile(lock, "utf8").catch(missing), await stat(lock).catch(missing)];
        const age = Date.now() - (made?.mtimeMs ?? Infinity);
        // An empty one was just made, or by a process that died in between.
        if (age > STALE || (holder ? isGone(Number(holder.split(" ")[0])) : age > 1000))
            await rm(lock, { force: true });
        else
            await pause(2 + (Date.now() % 5));
    }
}
/** Whether there is no such process any more. */
function isGone(id) {
    try {
        process.kill(id, 0);
        return false;
    }
    catch (error) {
        return error.code === "ESRCH";
    }
}
async function replace(path, text) {
    const fresh = `${path}.${randomUUID()}`;
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
