// Answers Python: reads surveys with what to take or to blur from its input, and writes what became of it.
import { readFileSync } from "node:fs";
import { loadSurvey } from "../../../src/confide/studio/client/confide.js";
import { pinOf } from "./suite.mjs";

const answers = JSON.parse(readFileSync(0, "utf8")).map(({ survey: text, raws = [], values = [], secret }) => {
  const survey = loadSurvey(text, pinOf(text));
  const taken = raws.map((raw) => {
    try {
      return { value: survey.take(raw) };
    } catch (error) {
      return { code: error.code, reason: error.message };
    }
  });
  return {
    taken,
    reports: values.map((value) => survey.blur(value, secret === undefined ? {} : { permanent: secret }).data),
    promise: survey.promise,
  };
});
console.log(JSON.stringify(answers));
