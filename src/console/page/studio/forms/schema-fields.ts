import { readAnswerFields, toText, type Fields } from '../agent-answers.ts';

/* The fields of a form by a JSON Schema of somebody else's. One that no form can be made of takes JSON instead. */

export type Choice = { value: unknown; label: string };

/** A field of a form. `choices` are those of a field that has only certain values. */
export type FormField = {
  name: string;
  label: string;
  help: string;
  isRequired: boolean;
  kind: 'text' | 'number' | 'integer' | 'truth' | 'choice' | 'json';
  choices: Choice[];
  initial: string;
};

/** Fields that one form has. A schema with more is a form that nobody fills in. */
const MOST = 40;

/** Returns the fields of a schema; undefined where it describes no object of named fields. */
export function readFormFields(schema: unknown): FormField[] | undefined {
  const whole = readAnswerFields(schema);
  const root = resolveField(whole, whole);
  const properties = Object.entries(readAnswerFields(root['properties']));
  if (properties.length === 0 || properties.length > MOST) return undefined;
  const required = Array.isArray(root['required']) ? root['required'] : [];
  return properties.map(([name, given]) => {
    const property = resolveField(given, whole);
    const choices = readChoices(property);
    const kind = choices.length > 0 ? 'choice' : readKind(property['type']);
    return {
      name,
      label: toText(property['title']) || name,
      help: toText(property['description']),
      isRequired: required.includes(name),
      kind,
      choices,
      initial: formatInitial(property['default'], kind, choices),
    };
  });
}

/** Follows a reference within the schema, and takes the one kind of a field that may also be nothing. */
function resolveField(given: unknown, whole: Fields, depth = 0): Fields {
  const property = readAnswerFields(given);
  if (depth > 5) return property;
  const [, place, name] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(toText(property['$ref'])) ?? [];
  if (place !== undefined && name !== undefined) {
    const { $ref: _, ...rest } = property;
    return { ...resolveField(readAnswerFields(whole[place])[name], whole, depth + 1), ...rest };
  }
  const either = [property['anyOf'], property['oneOf']].find((one) => Array.isArray(one)) as
    | unknown[]
    | undefined;
  const kinds = (either ?? [])
    .map(readAnswerFields)
    .filter((one) => one['type'] !== 'null' && !('const' in one));
  return kinds.length === 1
    ? { ...property, ...resolveField(kinds[0], whole, depth + 1) }
    : property;
}

function readKind(type: unknown): FormField['kind'] {
  const types = (Array.isArray(type) ? type : [type]).filter((one) => one !== 'null');
  const [only] = types.length === 1 ? types : [];
  if (only === 'string') return 'text';
  if (only === 'number' || only === 'integer') return only;
  return only === 'boolean' ? 'truth' : 'json';
}

function readChoices(property: Fields): Choice[] {
  const names = Array.isArray(property['enumNames']) ? property['enumNames'] : [];
  if (Array.isArray(property['enum']))
    return property['enum'].map((value, index) => ({
      value,
      label: toText(names[index]) || formatLabel(value),
    }));
  const either = Array.isArray(property['oneOf'])
    ? property['oneOf']
    : Array.isArray(property['anyOf'])
      ? property['anyOf']
      : [];
  const constants = either.map(readAnswerFields).filter((one) => 'const' in one);
  if (constants.length === 0 || constants.length < either.length) return [];
  return constants.map((one) => ({
    value: one['const'],
    label: toText(one['title']) || formatLabel(one['const']),
  }));
}

const formatLabel = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value);

function formatInitial(
  value: unknown,
  kind: FormField['kind'],
  choices: readonly Choice[],
): string {
  if (kind === 'choice') {
    const index = choices.findIndex((one) => JSON.stringify(one.value) === JSON.stringify(value));
    return index < 0 ? '' : String(index);
  }
  if (value === undefined || value === null) return '';
  return typeof value === 'string' && kind !== 'json' ? value : JSON.stringify(value);
}

export type FormContent = { value: Fields } | { faults: Record<string, string> };

/** Reads a form. A field that is left empty is left out, unless it is required. */
export function readFormContent(
  fields: readonly FormField[],
  texts: Readonly<Record<string, string>>,
): FormContent {
  const value: Fields = {};
  const faults: Record<string, string> = {};
  for (const field of fields) {
    const text = texts[field.name] ?? field.initial;
    const read = text.trim() === '' ? readEmpty(field) : parseField(field, text);
    if ('fault' in read) faults[field.name] = read.fault;
    else if (read.value !== undefined) value[field.name] = read.value;
  }
  return Object.keys(faults).length > 0 ? { faults } : { value };
}

type Read = { value: unknown } | { fault: string };

function readEmpty({ kind, isRequired }: FormField): Read {
  if (!isRequired) return { value: undefined };
  if (kind === 'truth') return { value: false };
  return { fault: 'It is required.' };
}

function parseField({ kind, choices }: FormField, text: string): Read {
  if (kind === 'text') return { value: text };
  if (kind === 'truth') return { value: text === 'true' };
  if (kind === 'choice') return { value: choices[Number(text)]?.value };
  if (kind === 'json') return parseJson(text);
  const number = Number(text);
  if (Number.isNaN(number)) return { fault: 'It is not a number.' };
  return kind === 'integer' && !Number.isInteger(number)
    ? { fault: 'It is not a whole number.' }
    : { value: number };
}

/** Reads a text as JSON. */
export function parseJson(text: string): Read {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { fault: `It is not JSON: ${(error as Error).message}` };
  }
}
