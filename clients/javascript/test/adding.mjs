// Adds reports to a shared file until the limit is reached: `node adding.mjs PATH SURVEY`.
import { loadSurvey, Queue } from "../../../src/confide/studio/client/confide.js";
import { fileStorage } from "./storage.mjs";

const [path, text] = process.argv.slice(2);
const survey = loadSurvey(text);
const queue = new Queue(survey, { storage: fileStorage(path) });
for (;;) {
  try {
    await queue.add(survey.blur(7));
    console.log("added");
  } catch (error) {
    console.log(error.code);
    break;
  }
}
