import type { TSchema } from 'typebox';
import { API_VERSION } from '../objects/api-group.ts';
import type { PLURALS } from '../objects/kind-names.ts';
import {
  BackupResourceStatus,
  DeploymentResourceStatus,
  ListenerResourceStatus,
  RevisionResourceStatus,
} from './resource-statuses.ts';
import { type Json, isObject } from '../../json.ts';

/*
 * Only the operator writes a status, and the definitions of the custom resources keep its form. But anyone who may
 * write a status, or a definition of an earlier version, may leave anything in it. Readers do not see fields outside of
 * this version's form, and the operator writes the status again.
 */

type Form = {
  type?: string;
  format?: string;
  properties?: Record<string, Form>;
  required?: string[];
  items?: Form;
};

const FORMS: Readonly<Record<keyof typeof PLURALS, TSchema>> = {
  Deployment: DeploymentResourceStatus,
  Revision: RevisionResourceStatus,
  Backup: BackupResourceStatus,
  Listener: ListenerResourceStatus,
  TracingProject: {},
  GitIntegration: {},
};
const STATUSES: ReadonlyMap<string, Form> = new Map(
  Object.entries(FORMS).map(([kind, form]) => [kind, form as Form]),
);

const FITS: Readonly<Record<string, (value: unknown, form: Form) => boolean>> = {
  string: (value, { format }) =>
    typeof value === 'string' && (format !== 'date-time' || !Number.isNaN(Date.parse(value))),
  integer: (value) => Number.isSafeInteger(value),
  boolean: (value) => typeof value === 'boolean',
  array: (value) => Array.isArray(value),
  object: (value, { properties = {}, required = [] }) =>
    isObject(value) &&
    required.every((name) => Object.hasOwn(value, name)) &&
    Object.entries(properties).every(
      ([name, form]) => !Object.hasOwn(value, name) || isOfForm(value[name], form),
    ),
};

const isOfForm = (value: unknown, form: Form): boolean =>
  FITS[form.type ?? '']?.(value, form) ?? true;

/** Returns the fields whose value is in their form, with the items of lists that are. Fields of other versions stay. */
function pickReadableFields(status: Json, { properties = {} }: Form): Json {
  let changed: Json | undefined;
  for (const [name, form] of Object.entries(properties)) {
    if (!Object.hasOwn(status, name)) continue;
    const value = status[name];
    if (!isOfForm(value, form)) delete (changed ??= { ...status })[name];
    else if (
      form.items !== undefined &&
      !(value as unknown[]).every((item) => isOfForm(item, form.items!))
    )
      (changed ??= { ...status })[name] = (value as unknown[]).filter((item) =>
        isOfForm(item, form.items!),
      );
  }
  return changed ?? status;
}

/** Returns a custom resource with its status in a form that readers know; any other object as it is. */
export function stripUnreadableStatus<T extends object>(object: T): T {
  const { apiVersion, kind, status } = object as {
    apiVersion?: unknown;
    kind?: unknown;
    status?: unknown;
  };
  const form =
    apiVersion === API_VERSION && typeof kind === 'string' ? STATUSES.get(kind) : undefined;
  if (form === undefined || status === undefined) return object;
  if (!isObject(status)) return { ...object, status: undefined };
  const kept = pickReadableFields(status, form);
  return kept === status ? object : { ...object, status: kept };
}
