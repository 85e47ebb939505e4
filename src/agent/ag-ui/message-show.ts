import { isObject, type Json } from '../../schema/json.ts';

/*
 * How pages show the message of a model, as the graph tells it in the metadata of the model's call, by the keys of
 * AG-UI's bridge and of CopilotKit's own packages.
 */

/** `predictions`: fields of the page's state that arguments of a tool become, each with `tool`. */
export type MessageShow = {
  predictions: Json[];
  hidesText: boolean;
  hidesCall: (name: string) => boolean;
};

export function readMessageShow(metadata: unknown): MessageShow {
  const asked = isObject(metadata) ? metadata : {};
  const predictions = asked['predict_state'] ?? asked['copilotkit:emit-intermediate-state'];
  const calls = asked['emit-tool-calls'] ?? asked['copilotkit:emit-tool-calls'];
  const named = typeof calls === 'string' ? [calls] : calls;
  return {
    predictions: Array.isArray(predictions) ? predictions.filter(isObject) : [],
    hidesText: (asked['emit-messages'] ?? asked['copilotkit:emit-messages']) === false,
    hidesCall: (name) => (Array.isArray(named) ? !named.includes(name) : named === false),
  };
}
