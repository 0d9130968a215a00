import { harmlessValue, mayHoldSecrets, type Redact, words } from "./redacted.ts";

const harmless = new Set(
  words(`
    index-url extra-index-url index find-links no-index trusted-host proxy cert timeout retries
    use-feature use-deprecated prefer-binary only-binary no-binary pre require-hashes require-virtualenv
    break-system-packages disable-pip-version-check no-python-version-warning no-cache-dir cache-dir user
    constraint requirement target prefix upgrade-strategy use-pep517 no-build-isolation no-compile
    no-input no-color progress-bar verbose quiet format isolated no-warn-script-location uploaded-prior-to
  `),
);

type Option = { section: string; key: string; lines: string[] };

/** `pip.conf`, as Python's configparser reads it: a line that is indented goes on with the value before it. */
export const redactPipConf: Redact = (text) => {
  const read = optionsIn(text);
  if (read === undefined) return undefined;
  let { isWhole } = read;
  let section: string | undefined;
  let shown = "";
  for (const option of read.options) {
    if (!harmless.has(option.key.toLowerCase().replaceAll("_", "-")) || !/^[\w-]+$/.test(option.section)) {
      isWhole = false;
      continue;
    }
    const values = option.lines.map(harmlessValue);
    if (values.includes(undefined)) return undefined;
    isWhole &&= values.every((value) => value?.isWhole === true);
    if (section !== option.section) shown += `[${(section = option.section)}]\n`;
    shown += `${option.key} = ${values.map((value) => value?.value).join("\n    ")}\n`;
  }
  return { text: shown, isWhole };
};

function optionsIn(text: string): { options: readonly Option[]; isWhole: boolean } | undefined {
  const options: Option[] = [];
  let [isWhole, section, last]: [boolean, string | undefined, Option | undefined] = [true, undefined, undefined];
  for (const line of text.split(/\r\n|\r|\n/)) {
    const said = line.trim();
    if (/^([;#]|$)/.test(said)) {
      isWhole &&= !mayHoldSecrets(said);
      continue;
    }
    const header = /^\[(.+)\]$/.exec(said)?.[1];
    const sign = said.search(/[=:]/);
    const [key, value] = [said.slice(0, Math.max(0, sign)).trim(), said.slice(sign + 1).trim()];
    if (/^\s/.test(line) && last !== undefined) last.lines.push(said);
    else if (header !== undefined) [section, last] = [header, undefined];
    else if (section === undefined || key === "") return undefined;
    else options.push((last = { section, key, lines: [value] }));
  }
  return { options, isWhole };
}
