/** What is kept on the device: one text, changed by one writer at a time, and durable when the promise is kept. */
import { refuse } from "./errors.js";

/** Somewhere to keep the queue and the ledger. */
export interface Storage {
  /**
   * Replaces the text by what `change` makes of it, as one step that no other tab or process sees half of.
   * Null is no text, before and after: nothing is written then. If `change` throws, nothing is written either.
   */
  update(change: (text: string | null) => string | null): Promise<void>;
}

/** The browser's own: IndexedDB, whose transactions two tabs take in turn. */
export function browserStorage(name = "confide"): Storage {
  if (!globalThis.indexedDB) refuse("storage", "No IndexedDB: give a storage.");
  return { update: (change) => inDatabase(name, change) };
}

async function inDatabase(name: string, change: (text: string | null) => string | null): Promise<void> {
  const opening = indexedDB.open(name, 1);
  await new Promise((done, fail) => {
    opening.onupgradeneeded = () => opening.result.createObjectStore(name);
    opening.onsuccess = done;
    opening.onerror = () => fail(opening.error);
    opening.onblocked = () => fail("a tab blocks it");
  });
  const database = opening.result;
  try {
    // Transactions that write come one after another, in all tabs. Another database of this name has no such store: this throws.
    const transaction = database.transaction(name, "readwrite", { durability: "strict" });
    const store = transaction.objectStore(name);
    const reading = store.get(0);
    await new Promise((done, fail) => {
      reading.onsuccess = () => {
        try {
          const text = change(reading.result ?? null);
          if (text !== null) store.put(text, 0);
        } catch (error) {
          fail(error);
          transaction.abort();
        }
      };
      transaction.oncomplete = done;
      transaction.onabort = () => fail(transaction.error);
    });
  } finally {
    database.close();
  }
}
