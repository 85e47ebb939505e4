import { Type, type TSchema } from 'typebox';
import { toError, Invalid, type FieldError } from '../../errors.ts';
import { createValidator } from '../../http/bodies/validate.ts';
import { listBudgetFaults } from '../../schema/agent/budget.ts';
import {
  GxJson,
  KEYS_OF_OTHERS,
  getDottedValue,
  type PassedOver,
} from '../../schema/agent/gx-json.ts';
import type { SettingsReader } from '../env.ts';
import { stripNulls } from '../../schema/json.ts';
import { splitUnknownKeys } from './unknown-keys.ts';

/** A section of gx.json that came as a variable, and the keys without an effect in it. */
export type FileSection = {
  variable: string;
  key: keyof GxJson;
  value: unknown;
  passedOver: PassedOver[];
};

/**
 * Variables in which the image builds of other servers hand over sections of their configuration file, as JSON, with
 * the section's key.
 */
const SECTIONS: readonly (readonly [variable: string, key: keyof GxJson])[] = [
  ['LANGSERVE_GRAPHS', 'graphs'],
  ['LANGGRAPH_HTTP', 'http'],
  ['LANGGRAPH_STORE', 'store'],
  ['LANGGRAPH_AUTH', 'auth'],
  ['LANGGRAPH_CHECKPOINTER', 'checkpointer'],
  ['LANGGRAPH_ENCRYPTION', 'encryption'],
  ['LANGGRAPH_PRIORITY', 'priority'],
  ['LANGGRAPH_WEBHOOKS', 'webhooks'],
  ['LANGGRAPH_UI', 'ui'],
  ['LANGGRAPH_UI_CONFIG', 'ui_config'],
];

/** The lifetime of threads alone, which is `ttl` of the section `checkpointer`. */
const THREAD_TTL = 'LANGGRAPH_THREAD_TTL';

/** Reads the sections of gx.json that come as variables. A fault of one is a problem of its variable. */
export function readFileSections(read: SettingsReader): FileSection[] {
  const ttl = read.readJson([THREAD_TTL]);
  const sections = [
    ...SECTIONS.map(([variable, key]) => ({ variable, key, value: read.readJson([variable]) })),
    {
      variable: THREAD_TTL,
      key: 'checkpointer' as const,
      value: ttl === undefined ? undefined : { ttl },
    },
  ];
  const given = sections
    .filter(({ value }) => value !== undefined && value !== null)
    .map(({ variable, key, value }): FileSection => {
      const { settings, passedOver } = dropUnknownKeys({ [key]: stripNulls(value) });
      const named = passedOver.map(({ name, instead }) => ({
        name: `${variable}: ${name}`,
        instead,
      }));
      return {
        variable,
        key,
        value: (settings as Record<string, unknown>)[key],
        passedOver: named,
      };
    });
  for (const { variable, key, value } of given)
    for (const fault of checkGxJson({ [key]: value }, Type.Partial(GxJson)))
      read.addProblem(`${variable}: ${fault}`);
  return given;
}

/** Returns settings of another server's file as such servers read it: keys that nobody knows change nothing. */
export function dropUnknownKeys(settings: unknown): {
  settings: unknown;
  passedOver: PassedOver[];
} {
  const { value, unknown } = splitUnknownKeys(settings, GxJson);
  const passedOver = unknown.map(({ name, pattern, nearest }) => ({
    name,
    instead:
      KEYS_OF_OTHERS[pattern] ??
      (nearest === undefined
        ? 'there is no such key'
        : `there is no such key; the nearest is "${nearest}"`),
  }));
  const backend = getDottedValue(value, BACKEND);
  if (typeof backend !== 'string' || backend === 'default') return { settings: value, passedOver };
  const { backend: _, ...checkpointer } = getDottedValue(value, 'checkpointer') as Record<
    string,
    unknown
  >;
  const other = { name: BACKEND, instead: `"${backend}" is not used: ${KEYS_OF_OTHERS[BACKEND]}` };
  return { settings: { ...(value as object), checkpointer }, passedOver: [...passedOver, other] };
}

const BACKEND = 'checkpointer.backend';

/** Returns the faults of settings of gx.json, in sentences that name the key. */
export function checkGxJson(settings: unknown, schema: TSchema = GxJson): string[] {
  try {
    createValidator()(schema, 'body')(settings, 'body');
    const { budgets = [] } = settings as Partial<GxJson>;
    return listBudgetFaults(budgets).map(({ at, field, msg }) => `"budgets.${at}.${field}" ${msg}`);
  } catch (error) {
    if (!(error instanceof Invalid)) return [toError(error).message];
    return error.fields.map((field) => describeFault(field, settings));
  }
}

const CODE =
  'must name a file or a module and the variable in it, such as "./agent.py:graph" or "./agent.ts:graph"';

function describeFault({ loc, msg, type }: FieldError, settings: unknown): string {
  const key = loc.slice(1).join('.');
  const named = key === '' ? 'the file' : `"${key}"`;
  switch (type) {
    case 'extra_forbidden':
      return describeUnknownKey(key, settings);
    case 'missing':
      return key === 'graphs'
        ? '"graphs" is missing: name each graph with its place, such as {"agent": "./agent.py:graph"}'
        : `${named} is missing`;
    case 'string_pattern_mismatch':
    case 'string_too_short':
      return isOfCode(key) ? `${named} ${CODE}` : `${named} ${msg}`;
    default:
      return `${named} ${msg}`;
  }
}

const isOfCode = (key: string): boolean =>
  /^graphs\.|^(auth|encryption)\.path$|^http\.app$/.test(key);

function describeUnknownKey(key: string, settings: unknown): string {
  const found = splitUnknownKeys(settings, GxJson).unknown.find(({ name }) => name === key);
  if (found?.nearest !== undefined)
    return `"${key}" is not a key of this file; the nearest is "${found.nearest}": correct it, or remove it`;
  const instead = found && KEYS_OF_OTHERS[found.pattern];
  return `"${key}" is not a key of this file: remove it${instead === undefined ? '' : `; ${instead}`}`;
}
