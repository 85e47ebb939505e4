import type { SettingsReader } from './env.ts';

/*
 * Names of settings that other servers of this interface read and that ask for something that this one does not do. To
 * ignore them would break a promise of the deployment, such as encrypted data, so the process exits at startup. Names
 * that only set how another server works inside are ignored; docs/reference/configuration-names.md lists them.
 */

type NotServed = { names: string[]; asks?: (value: string) => boolean; instead: string };

const on = (value: string): boolean => ['true', '1', 'yes', 'on'].includes(value.toLowerCase());

/** Variables that are refused when they ask for something. */
export const NOT_SERVED: readonly NotServed[] = [
  { names: ['LANGGRAPH_AUTH_TYPE'], asks: (value) => value !== 'noop', instead: 'auth of gx.json says who may call' },
  { names: ['LANGGRAPH_METRICS_ENABLED'], asks: on, instead: 'metrics are at /metrics' },
];

/** Adds a problem for each name that is set and asks for something. */
export function refuseNotServed(read: SettingsReader): void {
  for (const { names, asks = () => true, instead } of NOT_SERVED)
    for (const name of names) {
      const value = read.optional([name]);
      if (value !== undefined && asks(value)) read.problem(`${name} can't be honoured: ${instead}; remove it`);
    }
}
