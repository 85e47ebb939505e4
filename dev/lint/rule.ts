/* The parts of the linter's interface, which is ESLint's, that our own rules use. */

/** A node of the syntax tree: its type says which other fields it has. */
export type Node = {
  type: string;
  parent?: Node;
  range: [number, number];
  loc: Location;
  [field: string]: unknown;
};
export type Location = {
  start: { line: number; column: number };
  end: { line: number; column: number };
};
export type Comment = { type: 'Line' | 'Block' | 'Shebang'; value: string; loc: Location };
export type Variable = { name: string; references: { identifier: Node }[] };

export type Source = {
  ast: Node & { body: Node[] };
  lines: string[];
  getAllComments(): Comment[];
  getDeclaredVariables(node: Node): Variable[];
};

export type Context = {
  /** Absolute path of the file. */
  filename: string;
  /** Absolute path of the folder that the linter was started in: the repository. */
  cwd: string;
  options: unknown[];
  sourceCode: Source;
  report(problem: { message: string; node?: Node; loc?: Location }): void;
};

export type Rule = {
  meta: { type: 'problem'; schema?: false };
  create(context: Context): Record<string, (node: Node) => void>;
};
