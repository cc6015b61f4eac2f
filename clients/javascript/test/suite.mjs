// Checks that run alike in Node, in Chromium and in Deno: nothing here knows where it is.
// `run(confide, read)` takes the client and a function that reads a JSON file of the repository; it returns what was checked.

export async function run(confide, read, checks = CHECKS) {
  const done = {};
  for (const [name, check] of Object.entries(checks)) done[name] = (await check(confide, read)) ?? true;
  return done;
}

function assert(isTrue, message) {
  if (!isTrue) throw new Error(message);
}

function same(found, wanted, where) {
  assert(
    JSON.stringify(found) === JSON.stringify(wanted),
    `${where}: got ${JSON.stringify(found)}, wanted ${JSON.stringify(wanted)}`,
  );
}

/** Runs something that must be refused with one of these codes, and gives the message. */
export function refused(confide, codes, work) {
  try {
    work();
  } catch (error) {
    if (!(error instanceof confide.ConfideError)) throw error;
    assert([codes].flat().includes(error.code), `refused as ${error.code} instead of ${codes}: ${error.message}`);
    return error.message;
  }
  throw new Error(`not refused (${codes}): ${work}`);
}

/** The texts by the names of attributes, of which a place has two. */
function named({ names, alphabets }, texts) {
  const rest = [...texts];
  const isPlace = ({ kind }) => ["grid", "places", "lattice", "coordinates"].includes(kind);
  return Object.fromEntries(
    names.map((name, index) => [name, isPlace(alphabets[index]) ? rest.splice(0, 2) : rest.shift()]),
  );
}

/** The canonical form and digest, written a second time, by the platform's own SHA-256. */
const canonical = (value) => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value && typeof value === "object") {
    const keys = Object.keys(value).sort();
    return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`;
  }
  return JSON.stringify(value);
};

async function digest(text) {
  const found = await globalThis.crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(found), (octet) => octet.toString(16).padStart(2, "0"))
    .join("")
    .slice(0, 32);
}

/** A document with its fingerprint. */
export async function signed(document) {
  const { name, title, language, tables, fingerprint, ...rest } = document;
  const own = await digest(canonical(rest));
  return JSON.stringify({
    ...document,
    fingerprint: tables === undefined ? own : `${own}-${await digest(canonical(tables))}`,
  });
}

/** The pin that a document with tables must have: what it states, as whoever reviewed it has it. */
export function pinOf(text) {
  try {
    const { tables, fingerprint } = JSON.parse(text);
    return tables !== undefined && typeof fingerprint === "string" ? { fingerprint } : undefined;
  } catch {
    return undefined; // no JSON, which is refused
  }
}

/** A double of vectors/canonical.json. */
export function doubleOf(digits) {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setBigUint64(0, BigInt(`0x${digits}`));
  return bits.getFloat64(0);
}

/** A queue that keeps nothing for longer than a test. */
function queueOf(confide, document) {
  let kept = null;
  const storage = { update: async (change) => void (kept = change(kept)) };
  return new confide.Queue(confide.loadSurvey(document, pinOf(JSON.stringify(document))), { storage });
}

export const AGES = {
  name: "age",
  alphabet: { kind: "integers", low: 0, high: 20, unit: "year" },
  mechanism: { kind: "truncated-geometric", epsilon: 1 },
};
const SIGNED = await signed(AGES);
const COLOURS = {
  alphabet: { kind: "categories", values: ["red", "green", "blue"] },
  mechanism: { kind: "randomized-response", epsilon: 3 },
};

/** P(X > statistic) for chi-square, by the normal approximation of Wilson and Hilferty: good to a few per cent far out. */
function tail(statistic, freedom) {
  const z = (Math.cbrt(statistic / freedom) - (1 - 2 / (9 * freedom))) / Math.sqrt(2 / (9 * freedom));
  if (z < 0) return 1;
  return (Math.exp((-z * z) / 2) / (z * 2.5066 + Math.sqrt(6.28 + z * z * 6.28))) * 2;
}

/** The p-value of counts; cells in which fewer than 100 are expected are put together. */
function chiSquare(counts, shares) {
  const total = counts.reduce((a, b) => a + b, 0);
  let [statistic, cells, seen, expected] = [0, 0, 0, 0];
  shares.forEach((share, place) => {
    seen += counts[place];
    expected += share * total;
    if (expected < 100 && place < shares.length - 1) return;
    statistic += (seen - expected) ** 2 / expected;
    [cells, seen, expected] = [cells + 1, 0, 0];
  });
  return tail(statistic, cells - 1);
}

/** Counts a million draws, which must have these shares, and must not have those at an epsilon 1 % larger or smaller. */
function drawMany(survey, value, reports, shares, epsilon) {
  const place = new Map(reports.map((report, index) => [report, index]));
  const counts = reports.map(() => 0);
  for (let i = 0; i < 1_000_000; i++) counts[place.get(survey.blur(value).data)]++;
  const right = chiSquare(counts, shares(epsilon));
  assert(right > 1e-7, `draws do not have the shares of the matrix: p ${right}`);
  for (const wrong of [0.99 * epsilon, 1.01 * epsilon]) {
    const found = chiSquare(counts, shares(wrong));
    assert(found < 1e-5, `draws are taken for those of epsilon ${wrong}: p ${found}`);
  }
  return right;
}

export const CHECKS = {
  async vectors(confide, read) {
    let count = 0;
    for (const file of await read("vectors/draws")) {
      for (const { survey: document, draws } of (await read(`vectors/draws/${file}`)).groups) {
        let tape = [];
        let place = 0;
        const survey = confide.simulatedSurvey(JSON.stringify(document), () => {
          assert(place < tape.length, `${file}: more bytes are drawn than the vector has`);
          return tape[place++];
        });
        for (const draw of draws) {
          tape = draw.tape.match(/../g)?.map((pair) => parseInt(pair, 16)) ?? [];
          place = 0;
          same(survey.blur(draw.value).data, draw.report, `${file}, value ${JSON.stringify(draw.value)}`);
          assert(place === tape.length, `${file}: ${place} of ${tape.length} bytes were drawn`);
          count++;
        }
      }
    }
    return count;
  },

  async "permanent vectors"(confide, read) {
    let count = 0;
    for (const { survey: document, reports } of (await read("vectors/permanent.json")).groups ?? []) {
      let tape = [];
      const survey = confide.simulatedSurvey(JSON.stringify(document), () => tape.shift());
      for (const { secret, value, report, fresh = "" } of reports) {
        tape = fresh.match(/../g)?.map((pair) => parseInt(pair, 16)) ?? []; // of a second round
        same(
          survey.blur(value, { permanent: secret }).data,
          report,
          `${document.title}, value ${JSON.stringify(value)}`,
        );
        count++;
      }
    }
    return count;
  },

  async "values that people have"(confide, read) {
    let count = 0;
    const wrong = [];
    const groups = [
      ...(await read("vectors/places.json")).places,
      ...((await read("vectors/taking.json")).groups ?? []),
    ];
    for (const { alphabet, cases } of groups) {
      const kind = alphabet.kind === "coordinates" ? "planar-laplace" : "planar-geometric";
      const isEndless = ["lattice", "coordinates"].includes(alphabet.kind);
      const endless = { kind: alphabet.kind === "integers" ? "geometric" : kind, epsilon: 1 / (alphabet.spacing ?? 1) };
      const mechanism =
        isEndless || (alphabet.kind === "integers" && alphabet.low === undefined)
          ? endless
          : { kind: "rappor", epsilon: 1 };
      const survey = confide.loadSurvey(await signed({ alphabet, mechanism }));
      for (const { texts, value, refused: reason, reason: older } of cases) {
        count++;
        const where = `${JSON.stringify(alphabet).slice(0, 90)} ${JSON.stringify(texts)}`;
        // One text a column, as Python takes them; of attributes also by their names.
        const given = [
          texts.length > 1 ? texts : texts[0],
          ...(alphabet.kind === "attributes" ? [named(alphabet, texts)] : []),
        ];
        for (const raw of given) {
          try {
            if (value !== undefined && value !== null) same(survey.take(raw), value, where);
            else {
              const said = refused(confide, "value", () => survey.take(raw));
              assert(said.endsWith(`: ${reason ?? older}.`), `${said} Wanted: ${reason ?? older}`);
            }
          } catch (error) {
            wrong.push(`${where}: ${error.message}`);
          }
        }
      }
    }
    assert(!wrong.length, `${wrong.length} are wrong:\n${wrong.slice(0, 20).join("\n")}`);
    return count;
  },

  async refusals(confide, read) {
    const count = { document: 0, value: 0, report: 0, pin: 0, secret: 0 };
    const wrong = [];
    for (const { what, survey: document, cases } of (await read("vectors/refused.json")).groups ?? []) {
      for (const one of cases) {
        const work = () => {
          if (what === "document") return confide.loadSurvey(one.document);
          if (what === "pin") return confide.loadSurvey(JSON.stringify(document), one.pin);
          if (what === "value") return confide.loadSurvey(document, pinOf(JSON.stringify(document))).blur(one.value);
          // Whether a report is one of the alphabet is a collector's to say. A device sends none but those that it made.
          if (what === "report")
            return queueOf(confide, document).add({
              survey: document.fingerprint.slice(0, 32),
              data: one.report,
              tag: null,
            });
          const tag = (permanent) => confide.simulatedSurvey(SIGNED, () => 0).blur(7, { permanent }).tag;
          if (what === "secret" && one.text === undefined) return tag(one.secret);
          const found = tag(one.text);
          same(found, tag(Uint8Array.from(one.secret.match(/../g), (pair) => parseInt(pair, 16))), one.why);
        };
        count[what]++;
        try {
          const result = await Promise.resolve()
            .then(work)
            .then(
              () => null,
              (error) => error,
            );
          if (one.refused !== null)
            refused(confide, one.refused, () => {
              if (result) throw result;
            });
          else if (result) throw result;
        } catch (error) {
          wrong.push(`${what}, ${one.why}: ${error.message.slice(0, 120)}`);
        }
      }
    }
    assert(!wrong.length, `${wrong.length} are wrong:\n${wrong.slice(0, 20).join("\n")}`);
    assert(Math.min(...Object.values(count)) >= 4 && count.report >= 23, JSON.stringify(count));
    return count;
  },

  async canonical(confide, read) {
    // The client's own form, by the fingerprint that it takes of a document with such a number or text in its shape, which
    // a device does not look into. Numbers past 2^53 no document may have: those are checked on the source, in Node.
    let count = 0;
    for (const { cases } of (await read("vectors/canonical.json")).groups) {
      for (const { double, canonical: text, json } of cases) {
        const value = double === undefined ? JSON.parse(json) : doubleOf(double);
        if ([value, value.numbers ?? value].flat().some((one) => Math.abs(one) > Number.MAX_SAFE_INTEGER)) continue;
        const rest = canonical({ alphabet: AGES.alphabet, mechanism: AGES.mechanism });
        const fingerprint = await digest(`${rest.slice(0, -1)},"shape":[${text}]}`);
        confide.loadSurvey(`{"fingerprint":"${fingerprint}","shape":[${json ?? text}],${rest.slice(1)}`);
        refused(confide, "fingerprint", () =>
          confide.loadSurvey(`{"fingerprint":"${fingerprint}","shape":["x",${json ?? text}],${rest.slice(1)}`),
        );
        count++;
      }
    }
    assert(count > 50, `${count} were checked`);
    return count;
  },

  async pins(confide) {
    const text = await signed(AGES);
    const { fingerprint } = JSON.parse(text);
    const load = (pin, given = text) => confide.loadSurvey(given, pin);
    load({ fingerprint });
    load({ epsilon: 1, per: "year" });
    refused(confide, "pin", () =>
      load({ fingerprint: fingerprint.replace(/^./, (digit) => (digit === "0" ? "1" : "0")) }),
    );
    assert(
      refused(confide, "pin", () => load({ epsilon: 0.99, per: "year" })).includes("1 per year"),
      "the reason names what was asked",
    );
    const strange = [
      "",
      fingerprint,
      null,
      0,
      [],
      { fingerprint, reports: 3 },
      { epsilon: 1, per: "year", reports: NaN },
      { epsilon: "1", per: "year" },
      { epsilon: 1, per: "year", report: 3 },
    ];
    strange.push(...[null, -3, 0.5, "3"].map((reports) => ({ epsilon: 1, per: "year", reports })));
    for (const pin of [...strange, { epsilon: 1 }, { epsilon: 1, per: "month" }, { epsilon: NaN, per: "year" }, {}])
      refused(confide, "pin", () => load(pin));
    // The server changes the survey: by itself, and with a fingerprint that fits.
    const stronger = { ...AGES, mechanism: { ...AGES.mechanism, epsilon: 2 } };
    refused(confide, "fingerprint", () =>
      load({ epsilon: 1, per: "year" }, JSON.stringify({ ...stronger, fingerprint })),
    );
    const changed = await signed(stronger);
    refused(confide, "pin", () => load({ epsilon: 1, per: "year" }, changed));
    refused(confide, "pin", () => load({ fingerprint }, changed));
    // Twice as far apart is twice the epsilon.
    const wider = await signed({ ...AGES, alphabet: { ...AGES.alphabet, spacing: 2 } });
    refused(confide, "pin", () => load({ epsilon: 1, per: "year" }, wider));
    load({ epsilon: 1, per: "year", spacing: 2 }, wider);
    const colours = await signed(COLOURS);
    load({ epsilon: 3 }, colours);
    refused(confide, "pin", () => load({ epsilon: 2.9 }, colours));
    // No promise can be read off a table.
    const tables = {
      mechanism: {
        quadrant: [
          [1, 0.5],
          [0.5, 0.25],
        ],
      },
    };
    const cells = {
      alphabet: { kind: "grid", rows: 2, columns: 2, unit: "km" },
      mechanism: { kind: "truncated-planar-laplace", epsilon: 1 },
    };
    const withTables = await signed({ ...cells, tables });
    const whole = JSON.parse(withTables).fingerprint;
    load({ fingerprint: whole }, withTables);
    refused(confide, "pin", () => load({ fingerprint: whole.slice(0, 32) }, withTables));
    refused(confide, "pin", () => load({ epsilon: 100, per: "km" }, withTables));
    assert(
      refused(confide, "pin", () => load(undefined, withTables)).includes("pin its whole fingerprint"),
      "the cure is not told",
    );
    // Such as these, which report the truth under any promise.
    const uneven = {
      alphabet: { kind: "scale", values: ["a", "b", "c"], positions: [0, 1, 3] },
      mechanism: { kind: "exponential", epsilon: 0.05 },
    };
    const truths = [
      {
        ...uneven,
        tables: {
          mechanism: {
            rows: [
              [1, 0, 0],
              [0, 1, 0],
              [0, 0, 1],
            ],
          },
        },
      },
      {
        ...cells,
        tables: {
          mechanism: {
            quadrant: [
              [1, 0],
              [1e-300, 0],
            ],
          },
        },
      },
    ];
    for (const truth of await Promise.all(truths.map(signed))) {
      for (const pin of [undefined, { epsilon: 100 }, { epsilon: 100, per: "" }, { epsilon: 100, per: "km" }])
        refused(confide, "pin", () => load(pin, truth));
    }
    // A weight is a number.
    for (const weight of [null, "1", true, [], -1]) {
      const strange = await signed({
        ...cells,
        tables: {
          mechanism: {
            quadrant: [
              [1, weight],
              [0.5, 0.25],
            ],
          },
        },
      });
      refused(confide, "survey", () => load({ fingerprint: JSON.parse(strange).fingerprint }, strange));
    }
    // Of bins distances are those of middles: 49 and 50 years may be a thousand apart.
    const coarse = await signed({
      alphabet: { kind: "bins", edges: [-1950, 50, 2050], unit: "year" },
      mechanism: { kind: "truncated-geometric", epsilon: 0.05 },
    });
    load({ fingerprint: JSON.parse(coarse).fingerprint }, coarse);
    for (const spacing of [undefined, 1e6])
      refused(confide, "pin", () => load({ epsilon: 0.05, per: "year", spacing }, coarse));
    // How far apart places lie the client does not prove: a server could say that neighbours are 50 km apart.
    const near = await signed({ ...HOME, mechanism: { kind: "truncated-taxicab", epsilon: 1 } });
    load({ fingerprint: JSON.parse(near).fingerprint }, near);
    for (const spacing of [undefined, 1e6])
      refused(confide, "pin", () => load({ epsilon: 100, per: "km", spacing }, near));
    for (const spacing of [NaN, "x"]) refused(confide, "pin", () => load({ epsilon: 1, per: "year", spacing }));
    const others = JSON.stringify({
      ...JSON.parse(withTables),
      tables: {
        mechanism: {
          quadrant: [
            [1, 0],
            [0, 0],
          ],
        },
      },
    });
    refused(confide, "fingerprint", () => load(undefined, others));
    refused(confide, "survey", () =>
      load(
        undefined,
        JSON.stringify({ ...JSON.parse(withTables), fingerprint: whole.slice(0, 32), tables: undefined }),
      ),
    );
  },

  async "hostile documents"(confide) {
    const load = (text) => confide.loadSurvey(text);
    const valid = await signed(AGES);
    for (const text of [
      "",
      "null",
      "[]",
      "1",
      "{}",
      '{"a": 1}',
      "{",
      undefined,
      null,
      7,
      valid.replace("{", '{"name": "again",'),
      valid.replace('"low":0', '"low":0,"low":1'),
      valid.replace('"high":20', '"high":9007199254740993'),
      valid.replace('"high":20', '"high":1e400'),
      "[".repeat(100_000) + "]".repeat(100_000),
      `{"alphabet":${'{"a":'.repeat(50)}1${"}".repeat(50)}}`,
    ]) {
      refused(confide, ["survey", "fingerprint"], () => load(text));
    }
    const changes = [
      { unknown: 1 },
      // biome-ignore lint/suspicious/noDuplicateObjectKeys: the second is a key of that name, as JSON may have it
      { __proto__: null, ["__proto__"]: { low: 1 } },
      { alphabet: { kind: "constructor" } },
      { alphabet: { kind: "__proto__" } },
      { alphabet: { ...AGES.alphabet, step: 1 } },
      { alphabet: { ...AGES.alphabet, low: 21 } },
      { alphabet: { ...AGES.alphabet, low: 0.5 } },
      { alphabet: { ...AGES.alphabet, spacing: 0 } },
      { alphabet: { ...AGES.alphabet, spacing: "1" } },
      { alphabet: { ...AGES.alphabet, unit: "\ud800" } },
      { mechanism: { kind: "toString", epsilon: 1 } },
      { mechanism: { kind: "truncated-geometric" } },
      { mechanism: null },
      ...[0, -1, 1e-10, 101, "1", null, [1]].map((epsilon) => ({ mechanism: { ...AGES.mechanism, epsilon } })),
      { limits: { reports: 0 } },
      { limits: { reports: 1.5 } },
      { limits: { noise: "loud" } },
      { limits: { days: 1 } },
      { limits: { noise: "fresh" } },
      { limits: null },
      { alphabet: { ...AGES.alphabet, unit: null } },
    ];
    for (const change of changes) {
      const text = await signed({ ...AGES, ...change });
      refused(confide, "survey", () => load(text));
    }
    // Any leaf of any kind of survey replaced by anything: loaded, or refused as this client refuses, and nothing else.
    const junk = [null, true, -1, 0, 0.5, 1e15, "", "x", [], [[]], {}, { kind: "integers" }];
    let count = 0;
    for (const document of [AGES, COLOURS, BINS, HOME, BOTH]) {
      for (const path of leaves(document)) {
        for (const wrong of junk) {
          const copy = structuredClone(document);
          const last = path.slice(0, -1).reduce((table, key) => table[key], copy);
          last[path.at(-1)] = wrong;
          count++;
          try {
            const survey = load(await signed(copy));
            for (const { value } of survey.choices(5).slice(0, 1)) survey.blur(value);
          } catch (error) {
            assert(error instanceof confide.ConfideError, `${path} = ${JSON.stringify(wrong)}: ${error.stack}`);
          }
        }
      }
    }
    assert({}.low === undefined && Object.keys(Object.prototype).length === 0, "a prototype was changed");
    return count;
  },

  async "bad values"(confide) {
    const ages = confide.loadSurvey(await signed(AGES));
    for (const raw of [
      null,
      undefined,
      "",
      " ",
      "x",
      "7.5",
      7n,
      7.5,
      21,
      -1,
      NaN,
      Infinity,
      2 ** 60,
      {},
      [],
      true,
      "1_0",
    ]) {
      refused(confide, "value", () => ages.take(raw));
    }
    for (const value of [null, undefined, "7", 7.5, 21, -1, NaN, [7], 7n, true, { valueOf: () => 7 }]) {
      refused(confide, "value", () => ages.blur(value));
    }
    same(
      [" 7 ", "7.0", 7, "+7"].map((raw) => ages.take(raw)),
      [7, 7, 7, 7],
      "ages",
    );
    assert(Object.isFrozen(ages.blur(7)), "a report can be changed");
  },

  async "no entropy"(confide) {
    const own = globalThis.crypto;
    const survey = confide.loadSurvey(await signed(AGES));
    let stuck;
    let turn = 0;
    const tape = [];
    for (const broken of [
      undefined,
      {},
      {
        getRandomValues: () => {
          throw new Error("no entropy");
        },
      },
      { getRandomValues: (block) => block },
      { getRandomValues: (block) => block.fill(7) },
      { getRandomValues: (block) => block.map((_, place) => (block[place] = place % 32)) },
      { getRandomValues: (block) => block.map((_, place) => (block[place] = (place * place) % 251)) },
      { getRandomValues: (block) => own.getRandomValues(block.subarray(500)) },
      { getRandomValues: (block) => own.getRandomValues(block.subarray(0, 400)) },
      { getRandomValues: (block) => block.set((tape[turn++ % 2] ??= own.getRandomValues(block).slice())) }, // again after two calls
      { getRandomValues: (block) => (stuck = stuck ? (block.set(stuck), stuck) : own.getRandomValues(block).slice()) },
    ]) {
      Object.defineProperty(globalThis, "crypto", { value: broken, configurable: true, writable: true });
      try {
        // What was drawn before is still good: at most a block of 1,024 bytes, of which a report takes eight.
        let count = 0;
        refused(confide, "entropy", () => {
          for (; count < 500; count++) survey.blur(7);
        });
        assert(count <= 128, `${count} reports with a generator that repeats itself`);
        refused(confide, "entropy", () => survey.blur(7));
        refused(confide, "entropy", () => confide.newSecret());
      } finally {
        Object.defineProperty(globalThis, "crypto", { value: own, configurable: true, writable: true });
      }
    }
    survey.blur(7);
  },

  async "permanent rounds inside other mechanisms"(confide) {
    const response = { kind: "randomized-response", epsilon: 1 };
    const rounds = { kind: "two-rounds", permanent: response, fresh: response };
    const yes = { kind: "categories", values: ["x", "y"] };
    const both = { kind: "attributes", names: ["a", "b"], alphabets: [yes, yes] };
    for (const [alphabet, mechanism, value, lasting] of [
      [both, { kind: "product", a: rounds, b: response }, ["x", "y"], 2],
      [yes, { kind: "remapped", mechanism: rounds, outputs: yes, mapping: [0, 1] }, "x", 1],
      [
        both,
        { kind: "product", a: response, b: { kind: "remapped", mechanism: rounds, outputs: yes, mapping: [1, 0] } },
        ["x", "y"],
        2,
      ],
    ]) {
      const text = await signed({ alphabet, mechanism });
      const survey = confide.loadSurvey(text, { epsilon: lasting });
      assert(survey.isPermanent && survey.lasting, `${mechanism.kind} forgets its permanent round`);
      refused(confide, "secret", () => survey.blur(value));
      survey.blur(value, { permanent: confide.newSecret() });
      refused(confide, "pin", () => confide.loadSurvey(text, { epsilon: 0.9 * lasting }));
      assert(
        survey.promise.some((one) => one.startsWith("Any number of reports of the same value")),
        survey.promise.join("\n"),
      );
      const twice = await signed({
        alphabet,
        mechanism: { kind: "two-rounds", permanent: mechanism, fresh: mechanism },
      });
      refused(confide, "survey", () => confide.loadSurvey(twice));
    }
  },

  async "mechanisms that promise nothing, and outputs without end"(confide) {
    const yes = { kind: "categories", values: ["x", "y"] };
    const response = { kind: "randomized-response", epsilon: 1 };
    for (const [alphabet, mechanism] of [
      [
        yes,
        {
          kind: "matrix",
          matrix: [
            [1, 0],
            [0, 1],
          ],
        },
      ],
      [
        yes,
        {
          kind: "matrix",
          matrix: [
            [0.5, 0.5],
            [0, 1],
          ],
        },
      ],
      [yes, { kind: "remapped", mechanism: response, outputs: { kind: "integers" }, mapping: [0, 1] }],
      [AGES.alphabet, { kind: "remapped", mechanism: AGES.mechanism, outputs: { kind: "integers", unit: "year" } }],
      [
        AGES.alphabet,
        { kind: "remapped", mechanism: AGES.mechanism, outputs: { kind: "integers", low: 30, high: 40, unit: "year" } },
      ],
      [
        { kind: "integers", low: 1, high: 1e9 },
        { kind: "rappor", epsilon: 1 },
      ],
      [
        { kind: "integers", low: 1, high: 2 ** 20 + 1 },
        { kind: "unary", keep: 0.75, flip: 0.5 },
      ],
    ]) {
      const text = await signed({ alphabet, mechanism });
      refused(confide, "survey", () => confide.loadSurvey(text));
    }
  },

  async "a matrix of more columns than a function takes arguments"(confide) {
    const values = ["x", "y"];
    const row = Array(200_000).fill(1 / 200_000);
    const survey = confide.loadSurvey(
      await signed({ alphabet: { kind: "categories", values }, mechanism: { kind: "matrix", matrix: [row, row] } }),
    );
    assert(survey.guarantee.epsilon < 1e-9, `rows that are alike tell nothing; got ${survey.guarantee.epsilon}`);
    // The largest ratio is that of the middle column.
    const three = [
      [0.25, 0.5, 0.25],
      [0.375, 0.25, 0.375],
    ];
    const told = confide.loadSurvey(
      await signed({ alphabet: { kind: "categories", values }, mechanism: { kind: "matrix", matrix: three } }),
    ).guarantee.epsilon;
    assert(Math.abs(told - Math.log(2)) < 1e-9, `the smallest epsilon is log 2; got ${told}`);
  },

  async "permanent noise"(confide) {
    const survey = confide.loadSurvey(await signed({ ...AGES, limits: { noise: "permanent" } }));
    refused(confide, "secret", () => survey.blur(7));
    const wrong = [
      Promise.resolve("0123456789abcdef".repeat(2)),
      new ArrayBuffer(32),
      new DataView(new ArrayBuffer(32)),
      Array(32).fill(7),
      new Uint16Array(32).fill(7),
      () => "0123456789abcdef".repeat(2),
      1e30,
      {},
      null,
      new Uint8Array(32),
      `\ud800${"a secret of a person"}`,
    ];
    for (const permanent of wrong) refused(confide, "secret", () => survey.blur(7, { permanent }));
    // Whoever misspells it, or has no secret yet, gets no fresh noise in its place; and no secret stands in a message.
    const plain = confide.loadSurvey(SIGNED);
    const secretly = "a secret of a person";
    const bare = new TextEncoder().encode(secretly);
    for (const options of [
      { permanant: secretly },
      secretly,
      "",
      null,
      7,
      [],
      bare,
      { permanent: undefined },
      { permanent: secretly, fresh: true },
    ]) {
      assert(!refused(confide, "secret", () => plain.blur(7, options)).includes("person"), "a secret is shown");
    }
    for (const options of [undefined, {}]) same(plain.blur(7, options).tag, null, "fresh noise has a tag");
    survey.blur(7, { permanent: globalThis.crypto.getRandomValues(new Uint8Array(32)) });
    for (const permanent of ["", "short", "abc", new Uint8Array(15), 7, "0".repeat(30)])
      refused(confide, "secret", () => survey.blur(7, { permanent }));
    const own = "a secret of a person";
    for (const end of ["\n", "\r\n"])
      same(survey.blur(7, { permanent: own + end }).tag, survey.blur(7, { permanent: own }).tag, "a line end");
    const secret = confide.newSecret();
    assert(/^[0-9a-f]{64}$/.test(secret), secret);
    const reports = Array.from({ length: 365 }, () => survey.blur(7, { permanent: secret }));
    assert(
      new Set(reports.map((one) => one.data)).size === 1 && new Set(reports.map((one) => one.tag)).size === 1,
      "the report changed",
    );
    assert(survey.blur(8, { permanent: secret }).tag !== reports[0].tag, "two values have one tag");
    // Over people the shares are the mechanism's.
    const shares = Array.from(
      { length: 21 },
      (_, age) => (Math.exp(-Math.abs(age - 7)) * (age % 20 ? 1 - Math.exp(-1) : 1)) / (1 + Math.exp(-1)),
    );
    const counts = shares.map(() => 0);
    for (let person = 0; person < 20_000; person++)
      counts[survey.blur(7, { permanent: `a secret of person ${person}` }).data]++;
    const found = chiSquare(counts, shares);
    assert(found > 1e-7, `permanent noise does not have the mechanism's shares: p ${found}`);
  },

  async "the promise in words"(confide) {
    const words = confide.loadSurvey(
      await signed({ ...AGES, limits: { reports: 30 }, mechanism: { kind: "truncated-geometric", epsilon: 0.05 } }),
    ).promise;
    assert(words[0] === "One report: 0.05 per year.", words[0]);
    assert(
      words.some((one) => one.includes("even odds become 51 to 49 at most")),
      words.join("\n"),
    );
    assert(words.at(-1) === "At most 30 reports of one person: 1.5 per year.", words.at(-1));
    // Of pairs that there are: the neighbours that lie farthest apart, by their middles 55 and 77.5, and the ends.
    const ranges = confide.loadSurvey(
      await signed({
        alphabet: { kind: "bins", edges: [0, 18, 30, 45, 65, 90], unit: "year" },
        mechanism: { kind: "truncated-geometric", epsilon: 0.05 },
      }),
    ).promise;
    same(
      ranges.slice(1, 3),
      [
        "Two values 22.5 years apart: even odds become 75 to 25 at most.",
        "Two values 68.5 years apart: even odds become 97 to 3 at most.",
      ],
      "uneven ranges",
    );
    const square = confide.loadSurvey(
      await signed({
        alphabet: { kind: "grid", rows: 4, columns: 5, spacing: 0.5, unit: "km" },
        mechanism: { kind: "truncated-taxicab", epsilon: 1 },
      }),
    ).promise;
    assert(square[2].startsWith("Two values 2.5 km apart:"), square.join("\n"));
    const said = async (change) =>
      confide
        .loadSurvey(await signed({ ...AGES, ...change }))
        .promise.slice(-2)
        .join(" ");
    const lasting = "Any number of reports of the same value: 1 per year. Each other value adds as much.";
    same(
      await said({ limits: { noise: "permanent", reports: 3 } }),
      `${lasting} At most 3 reports of one person, none twice.`,
      "permanent",
    );
    const rounds = { kind: "two-rounds", permanent: AGES.mechanism, fresh: { ...AGES.mechanism, epsilon: 0.5 } };
    same(
      await said({ mechanism: rounds, limits: { epsilon: 3 } }),
      `${lasting} At most epsilon 3 of one person in all.`,
      "two rounds",
    );
    assert(
      (await said({ limits: { epsilon: 9 } })).endsWith("At most epsilon 9 of one person in all."),
      "a total is told",
    );
  },
};

/** What takes long, and is the same on every platform: in Node alone. */
export const LONG_CHECKS = {
  async "two million draws"(confide) {
    const colours = confide.loadSurvey(await signed(COLOURS));
    const response = (epsilon) => [1, 0, 0].map((own) => (own ? Math.exp(epsilon) : 1) / (Math.exp(epsilon) + 2));
    const ages = confide.loadSurvey(await signed(AGES));
    const values = Array.from({ length: 21 }, (_, age) => age);
    const noise = (epsilon) =>
      values.map(
        (age) =>
          (Math.exp(-epsilon * Math.abs(age - 7)) * (age % 20 ? 1 - Math.exp(-epsilon) : 1)) / (1 + Math.exp(-epsilon)),
      );
    return [drawMany(colours, "red", ["red", "green", "blue"], response, 3), drawMany(ages, 7, values, noise, 1)];
  },
};

const BINS = {
  alphabet: { kind: "bins", edges: [0, 10, 20, 50], above: true, unit: "thousand" },
  mechanism: { kind: "truncated-laplace", epsilon: 0.1 },
};
const HOME = {
  alphabet: { kind: "places", rows: 2, columns: 2, spacing: 0.5, south: 40, west: -74, north: 40.01, east: -73.99 },
  mechanism: { kind: "planar-laplace", epsilon: 1 },
};
const BOTH = {
  alphabet: {
    kind: "attributes",
    names: ["age", "day"],
    alphabets: [AGES.alphabet, { kind: "dates", first: "2026-01-01", last: "2026-01-31" }],
  },
  mechanism: { kind: "product", age: AGES.mechanism, day: { kind: "exponential", epsilon: 0.3 } },
  limits: { reports: 3 },
  groups: { town: ["Oslo", "Bern"] },
};

function leaves(table, path = []) {
  return Object.entries(table).flatMap(([key, one]) => [
    [...path, key],
    ...(one && typeof one === "object" ? leaves(one, [...path, key]) : []),
  ]);
}
