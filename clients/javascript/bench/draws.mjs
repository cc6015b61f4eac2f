// Microseconds a draw, by mechanism, and the size of the build: `npm run bench`.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { loadSurvey } from "../../../src/confide/studio/client/confide.js";
import { signed } from "../test/suite.mjs";

const line = (high) => ({ kind: "integers", low: 0, high });
const grid = { kind: "grid", rows: 20, columns: 14, spacing: 0.5 };
const cases = [
  ["randomized response, 100 values (weights of 64 bits)", line(99), { kind: "randomized-response", epsilon: 2 }, 50],
  ["truncated geometric, 100 values", line(99), { kind: "truncated-geometric", epsilon: 0.05 }, 50],
  ["truncated geometric, 1,000 values", line(999), { kind: "truncated-geometric", epsilon: 0.05 }, 500],
  [
    "matrix of 2 values (weights of 62 bits)",
    line(1),
    {
      kind: "matrix",
      matrix: [
        [0.3, 0.7],
        [0.6, 0.4],
      ],
    },
    1,
  ],
  ["RAPPOR, 100 values", line(99), { kind: "rappor", epsilon: 2 }, 50],
  ["geometric", line(99), { kind: "geometric", epsilon: 0.05 }, 50],
  ["Laplace", line(99), { kind: "laplace", epsilon: 0.05 }, 50],
  ["truncated taxicab, 20 x 14 cells", grid, { kind: "truncated-taxicab", epsilon: 1 }, [10, 7]],
  ["planar Laplace", grid, { kind: "planar-laplace", epsilon: 1 }, [10, 7]],
];
const build = readFileSync(new URL("../../../src/confide/studio/client/confide.js", import.meta.url));
console.log(
  `build: ${build.length} bytes, ${gzipSync(build, { level: 9 }).length} gzipped; Node ${process.versions.node}\n`,
);
for (const [name, alphabet, mechanism, value] of cases) {
  const start = performance.now();
  const survey = loadSurvey(await signed({ alphabet, mechanism }));
  survey.blur(value);
  const first = performance.now() - start;
  const count = mechanism.kind === "planar-laplace" ? 20_000 : 200_000;
  for (let i = 0; i < count / 10; i++) survey.blur(value);
  const begun = performance.now();
  for (let i = 0; i < count; i++) survey.blur(value);
  const each = ((performance.now() - begun) / count) * 1000;
  console.log(
    `${name.padEnd(56)} ${each.toFixed(2).padStart(8)} microseconds a draw, the first after ${first.toFixed(1)} ms`,
  );
}
