// Answers Python: loads every document of its input, and writes what each promises, or why it is refused.
import { readFileSync } from "node:fs";
import { loadSurvey } from "../../../src/confide/studio/client/confide.js";
import { pinOf } from "./suite.mjs";

const total = ({ epsilon, parts = [] }) => epsilon ?? parts.reduce((sum, part) => sum + part.epsilon, 0);
const answers = JSON.parse(readFileSync(0, "utf8")).map((text) => {
  try {
    const { guarantee, lasting, isPermanent } = loadSurvey(text, pinOf(text));
    return { kind: guarantee.kind, epsilon: total(guarantee), lasting: lasting && total(lasting), isPermanent };
  } catch (error) {
    return { code: error.code ?? `${error}`, reason: error.message };
  }
});
console.log(JSON.stringify(answers));
