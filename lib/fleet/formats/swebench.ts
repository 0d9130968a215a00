import type { ResultWriter } from "../results/resultset.ts";

/** Predictions, as the harness of SWE-bench reads them: the key is the instance. */
export const swebenchResults: ResultWriter = async function* ({ rows, patch }) {
  const decoder = new TextDecoder();
  for await (const { key, model, patch: hasPatch } of rows()) {
    const bytes = hasPatch ? await patch(key) : undefined;
    const prediction = {
      instance_id: key,
      model_name_or_path: model ?? "koda",
      model_patch: bytes === undefined ? "" : decoder.decode(bytes),
    };
    yield `${JSON.stringify(prediction)}\n`;
  }
};
