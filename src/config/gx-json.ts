import { Type, type TSchema } from 'typebox';
import { asError, Invalid } from '../errors.ts';
import { createValidator } from '../http/validate.ts';
import { GxJson } from '../schema/agent/gx-json.ts';
import type { SettingsReader } from './env.ts';
import { isObject } from '../schema/json.ts';

/** A section of gx.json that came as a variable. */
export type FileSection = { variable: string; key: keyof GxJson; value: unknown };

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
export function fileSections(read: SettingsReader): FileSection[] {
  const ttl = read.json([THREAD_TTL]);
  const sections: FileSection[] = [
    ...SECTIONS.map(([variable, key]) => ({ variable, key, value: read.json([variable]) })),
    { variable: THREAD_TTL, key: 'checkpointer', value: ttl === undefined ? undefined : { ttl } },
  ];
  const given = sections
    .filter(({ value }) => value !== undefined && value !== null)
    .map((section) => ({ ...section, value: withoutAbsent(section.value) }));
  for (const { variable, key, value } of given)
    for (const fault of gxJsonFaults({ [key]: value }, Type.Partial(GxJson))) read.problem(`${variable}: ${fault}`);
  return given;
}

/** Returns the faults of settings of gx.json, in sentences that name the key. */
export function gxJsonFaults(settings: unknown, schema: TSchema = GxJson): string[] {
  try {
    createValidator()(schema, 'body')(settings, 'body');
    return [];
  } catch (error) {
    if (!(error instanceof Invalid)) return [asError(error).message];
    return error.fields.map((field) => `"${field.loc.slice(1).join('.') || 'the file'}" ${field.msg}`);
  }
}

/** Returns the value without fields that are null, which other tools write for absent values. */
export function withoutAbsent(value: unknown): unknown {
  if (!isObject(value)) return value;
  const present = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(present.map(([key, field]) => [key, withoutAbsent(field)]));
}
