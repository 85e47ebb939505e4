import {
  readDotEnvOfJavascript,
  readDotEnvOfPython,
  toEnvRecord,
  type DotEnvFile,
} from '../../../schema/dot-env.ts';

/** The variables of a .env file, and the lines that can't be secrets. */
export type DotEnv = { variables: { name: string; value: string }[]; faults: string[] };

/** The two ways in which projects read their files. */
export type DotEnvReading = 'python' | 'javascript';

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Reads the text of a .env file as projects in one of the languages do. The last value of a name counts. Values of
 * other variables are known only if they are in the text.
 */
export function readDotEnv(text: string, reading: DotEnvReading): DotEnv {
  const unknown = new Set<string>();
  const noteUnknown = (name: string, otherwise: string | undefined): undefined => {
    if (otherwise === undefined) unknown.add(name);
  };
  const file =
    reading === 'python' ? readDotEnvOfPython(text, noteUnknown) : readDotEnvOfJavascript(text);
  const lines = [
    ...file.faulty,
    ...file.variables.filter(({ name }) => !NAME.test(name)).map(({ line }) => line),
  ];
  return {
    variables: Object.entries(toEnvRecord(file)).map(([name, value]) => ({ name, value })),
    faults: [
      ...lines
        .toSorted((one, other) => one - other)
        .map((line) => `Line ${line} is not NAME=value.`),
      ...[...unknown].map((name) => `\${${name}} is in none of these lines: write its value.`),
    ],
  };
}

/** Returns the names of variables that have another value in projects of the other language. */
export function listDifferingNames(text: string): string[] {
  const [python, javascript] = [
    readDotEnvOfPython(text, () => undefined),
    readDotEnvOfJavascript(text),
  ].map((file: DotEnvFile) => toEnvRecord(file));
  const names = new Set([...Object.keys(python ?? {}), ...Object.keys(javascript ?? {})]);
  return [...names].filter((name) => python?.[name] !== javascript?.[name]);
}
