import { z } from "zod";

/**
 * The part of SARIF 2.1.0 that koda writes, as the standard has it: properties that it does not define are errors, and
 * so is what GitHub's code scanning refuses beyond it.
 */
const uri = z.string().regex(/^(?:[\w.~!$&'()*+,;=:@/-]|%[0-9A-F]{2})+$/);
const message = z.strictObject({ text: z.string().min(1) });
const level = z.enum(["none", "note", "warning", "error"]);
const bag = z.looseObject({ tags: z.array(z.string()).optional() });

const rule = z.strictObject({
  id: z.string().min(1),
  name: z.string(),
  shortDescription: message,
  fullDescription: message,
  defaultConfiguration: z.strictObject({ level }),
  properties: bag,
});

const region = z
  .strictObject({ startLine: z.int().min(1), endLine: z.int().min(1) })
  .refine(({ startLine, endLine }) => startLine <= endLine);

const result = z.strictObject({
  ruleId: z.string(),
  ruleIndex: z.int().min(0),
  level,
  message,
  locations: z
    .array(
      z.strictObject({
        physicalLocation: z.strictObject({
          artifactLocation: z.strictObject({ uri, uriBaseId: z.literal("%SRCROOT%") }),
          region,
        }),
      }),
    )
    .min(1),
  partialFingerprints: z.record(z.string(), z.string().min(1)),
  properties: bag,
});

const run = z.strictObject({
  tool: z.strictObject({
    driver: z.strictObject({
      name: z.literal("koda"),
      semanticVersion: z.string().regex(/^\d+\.\d+\.\d+/),
      rules: z.array(rule),
    }),
  }),
  automationDetails: z.strictObject({ id: z.string() }),
  columnKind: z.enum(["utf16CodeUnits", "unicodeCodePoints"]),
  results: z.array(result),
});

const log = z.strictObject({ $schema: z.url(), version: z.literal("2.1.0"), runs: z.array(run).min(1) });

/** A log that the standard allows, or an error. */
export function readSarif(text: string): z.infer<typeof run> {
  const { runs } = log.parse(JSON.parse(text));
  const [first] = runs;
  if (first === undefined) throw new Error("a log has a run");
  const { rules } = first.tool.driver;
  for (const { ruleId, ruleIndex } of first.results)
    if (rules[ruleIndex]?.id !== ruleId) throw new Error(`"${ruleId}" is not rule ${ruleIndex}`);
  const prints = first.results.map(({ partialFingerprints }) => JSON.stringify(partialFingerprints));
  if (new Set(prints).size !== prints.length) throw new Error("two results have one fingerprint");
  return first;
}
