// The file storage as Node runs it, compiled or not: tests need no build but the one that is shipped.
export { fileStorage } from "../../../src/confide/studio/client/node.js";
