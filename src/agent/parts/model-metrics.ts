import { Counter, type Registry } from 'prom-client';
import { NANO_PER_USD } from '../prices/compute-cost.ts';
import type { ModelCallCounts, ModelCounts } from '../runs/executing/model-call-counts.ts';

/** The values of one metric, each under a value of its second label; one without has the name ''. */
type Values = (counts: ModelCounts) => Record<string, number>;

const METRICS: [name: string, help: string, label: string | undefined, values: Values][] = [
  [
    'calls_total',
    'Calls of models that this process recorded, by status.',
    'status',
    ({ byStatus }) => byStatus,
  ],
  [
    'tokens_total',
    'Tokens of calls of models. Those of caches are in input, too, and those of reasoning in output.',
    'kind',
    ({ tokens }) => tokens,
  ],
  [
    'cost_usd_total',
    'The price in US dollars of those calls whose price is known.',
    undefined,
    ({ costNano }) => ({ '': costNano / NANO_PER_USD }),
  ],
  [
    'unpriced_calls_total',
    'Calls of models whose price nobody knows.',
    undefined,
    ({ unpriced }) => ({ '': unpriced }),
  ],
  [
    'unreported_calls_total',
    'Calls of models that reported no tokens.',
    undefined,
    ({ unreported }) => ({ '': unreported }),
  ],
  [
    'seconds_total',
    'Time of calls of models.',
    undefined,
    ({ milliseconds }) => ({ '': milliseconds / 1000 }),
  ],
];

/**
 * Makes the metrics of calls of models, by model. They never name a user or an assistant: each value would be a series.
 * Returns the function that brings them up to date, which returns them as JSON, too.
 */
export function createModelMetrics(
  { byModel }: ModelCallCounts,
  registers: Registry[],
): () => object {
  const counters = METRICS.map(([name, help, label, values]) => {
    const labelNames = label === undefined ? ['model'] : ['model', label];
    const counter = new Counter({ name: `gx_api_model_${name}`, help, labelNames, registers });
    return (): void => {
      counter.reset();
      for (const [model, counts] of byModel)
        for (const [value, count] of Object.entries(values(counts)))
          counter.inc({ model, ...(label !== undefined && { [label]: value }) }, count);
    };
  });
  return () => {
    for (const bringUpToDate of counters) bringUpToDate();
    return Object.fromEntries(byModel);
  };
}
