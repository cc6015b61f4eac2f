import type { Storage } from "./confide.js";
/** Keeps everything in one file: written beside it, synchronised and renamed, so that a crash leaves the old text or the new. */
export declare function fileStorage(path: string): Storage;
