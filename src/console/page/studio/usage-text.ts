import { readAnswerFields, type ListedCall } from './agent-answers.ts';

const readNumber = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;
const formatCount = (count: unknown): string => (readNumber(count) ?? 0).toLocaleString('en');

/** Returns the tokens of a run's models, and its price where one is known. Empty where no call was recorded. */
export function describeUsage(usage: unknown): string {
  if (typeof usage !== 'object' || usage === null) return '';
  const { input, output, cost_usd: cost } = usage as Record<string, unknown>;
  const price = readNumber(cost);
  const tokens = `${formatCount(input)} in, ${formatCount(output)} out`;
  return price === undefined ? tokens : `${tokens}, ${formatPrice(price)}`;
}

const formatPrice = (price: number): string => `$${price.toFixed(price < 0.01 ? 6 : 2)}`;

/** Models that a sentence names. */
const MOST_NAMED = 3;

/** Returns the sentence about calls of a run that reported no tokens. Empty where all did. */
export function describeUnreported(usage: unknown): string {
  const { unreported, failed, unreported_models: named } = readAnswerFields(usage);
  // A call that failed has nothing to report.
  const count = (readNumber(unreported) ?? 0) - (readNumber(failed) ?? 0);
  if (count <= 0) return '';
  const names = (Array.isArray(named) ? named : []).filter((name) => typeof name === 'string');
  const of = names.length === 0 ? '' : ` of ${names.slice(0, MOST_NAMED).join(', ')}`;
  return `${formatCount(count)} ${count === 1 ? 'call' : 'calls'}${of} reported nothing: set \`stream_usage\``;
}

/** Returns the tokens and the price of one call of a model, as far as they are known. */
export const describeCall = ({ input, output, cost, isReported }: ListedCall): string =>
  isReported ? describeUsage({ input, output, cost_usd: cost }) : 'reported nothing';

/** Returns the tokens that a message says it took; undefined where it says nothing. */
export function describeMessageTokens(metadata: unknown): string | undefined {
  const { input_tokens: input, output_tokens: output } = readAnswerFields(metadata);
  if (readNumber(input) === undefined && readNumber(output) === undefined) return undefined;
  return `${formatCount(input)} tokens in, ${formatCount(output)} out`;
}

const MINUTE = 60_000;

/** Returns how long something took, as people read it. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < MINUTE) return `${(milliseconds / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
