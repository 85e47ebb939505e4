import { relative, resolve } from 'node:path';
import { ts } from '@ts-morph/common';

/*
 * Follows one value through the calls that pass it on. The value stays itself under another name, as a field or an
 * element of a new object, and where an object is spread into another one; a part of it is followed, too. A function
 * that gets it is a stay, unless the function before it stands in the same file.
 */

/** The files in the order in which a reader opens them, and the names under which the value goes. */
export type Walk = { stays: string[]; names: Set<string> };

/** A function of which a parameter is followed, until `until` gets the value. */
export type WalkStart = { file: string; name: string; parameter: string; until?: string };

/**
 * Where the value is within a variable: at a path of fields, which is empty where the variable is the value or a part.
 */
type Held = { variable: ts.Symbol; path: string[] };

type Receiver = { declaration: ts.SignatureDeclaration; held: Held[] };

type Progress = Walk & { entered: Set<ts.Node>; until: string | undefined; isOver: boolean };

const SOURCES = 'src/';

/** Rooms whose functions are statements or requests: a reader knows them by their names, so a walk ends there. */
const DOORS = ['src/agent/db/', 'src/kube/'];

const TRANSPARENT = [
  ts.isParenthesizedExpression,
  ts.isAsExpression,
  ts.isNonNullExpression,
  ts.isSatisfiesExpression,
  ts.isAwaitExpression,
];

/** The sources of a checkout with their types, by which calls are resolved. */
export class WalkedSources {
  readonly #root: string;
  readonly #program: ts.Program;
  readonly #checker: ts.TypeChecker;
  readonly #implementations: Map<ts.Node, ts.SignatureDeclaration>;

  constructor(root: string, files: string[]) {
    this.#root = root;
    this.#program = ts.createProgram({
      rootNames: files.map((file) => resolve(root, file)),
      options: {
        target: ts.ScriptTarget.ESNext,
        module: ts.ModuleKind.NodeNext,
        moduleResolution: ts.ModuleResolutionKind.NodeNext,
        allowImportingTsExtensions: true,
        skipLibCheck: true,
        noEmit: true,
        strict: true,
      },
    });
    this.#checker = this.#program.getTypeChecker();
    this.#implementations = this.#listImplementations();
  }

  walk({ file, name, parameter, until }: WalkStart): Walk {
    const declaration = this.#findFunction(file, name);
    const held = declaration.parameters.flatMap((one) => this.#bindNamed(one.name, parameter));
    if (held.length === 0) throw new Error(`${name} of ${file} has no parameter ${parameter}`);
    const walk = { stays: [], names: new Set<string>(), entered: new Set<ts.Node>() };
    const progress: Progress = { ...walk, until, isOver: false };
    this.#enter({ declaration, held }, progress);
    if (until !== undefined && !progress.isOver)
      throw new Error(`${until} does not get ${parameter} of ${name}`);
    return progress;
  }

  #enter({ declaration, held }: Receiver, progress: Progress): void {
    const file = this.#toPath(declaration);
    const door = DOORS.find((one) => file.startsWith(one));
    const place = door ?? file;
    if (progress.stays.at(-1) !== place) progress.stays.push(place);
    for (const { variable, path } of held) progress.names.add([variable.name, ...path].join('.'));
    if (progress.until !== undefined && readName(declaration) === progress.until)
      progress.isOver = true;
    const body = 'body' in declaration ? declaration.body : undefined;
    if (progress.entered.has(declaration) || body === undefined) return;
    progress.entered.add(declaration);
    if (door === undefined) this.#followBody(body, held, progress);
  }

  #followBody(body: ts.Node, held: readonly Held[], progress: Progress): void {
    const known = [...held];
    const visit = (node: ts.Node): void => {
      ts.forEachChild(node, visit);
      if (progress.isOver) return;
      if (ts.isVariableDeclaration(node) && node.initializer !== undefined)
        for (const path of this.#locate(node.initializer, known))
          known.push(...this.#bind(node.name, path));
      if (!ts.isCallExpression(node) && !ts.isNewExpression(node)) return;
      const receiver = this.#findReceiver(node, known);
      if (receiver !== undefined) this.#enter(receiver, progress);
    };
    visit(body);
  }

  #findReceiver(
    call: ts.CallExpression | ts.NewExpression,
    known: readonly Held[],
  ): Receiver | undefined {
    const declaration = this.#findDeclaration(call);
    if (declaration === undefined || !this.#toPath(declaration).startsWith(SOURCES))
      return undefined;
    const held = (call.arguments ?? []).flatMap((argument, at) => {
      const name = declaration.parameters[at]?.name;
      return name === undefined
        ? []
        : this.#locate(argument, known).flatMap((path) => this.#bind(name, path));
    });
    return held.length === 0 ? undefined : { declaration, held };
  }

  /** Returns the function that a call runs; of a field with a function, the one that is given to such a field. */
  #findDeclaration(
    call: ts.CallExpression | ts.NewExpression,
  ): ts.SignatureDeclaration | undefined {
    const declaration = this.#checker.getResolvedSignature(call)?.declaration;
    if (declaration === undefined || declaration.kind === ts.SyntaxKind.JSDocSignature)
      return undefined;
    if ('body' in declaration && declaration.body !== undefined) return declaration;
    const { expression } = call;
    const named = ts.isPropertyAccessExpression(expression) ? expression.name : expression;
    const symbol = this.#checker.getSymbolAtLocation(named);
    const element = symbol?.valueDeclaration;
    const field =
      element !== undefined && ts.isBindingElement(element)
        ? this.#checker
            .getTypeAtLocation(element.parent)
            .getProperty((element.propertyName ?? element.name).getText())
        : symbol;
    const declared = field?.declarations?.[0];
    return declared && this.#implementations.get(declared);
  }

  /** Returns the functions that object literals give to fields of declared types, by the declaration of the field. */
  #listImplementations(): Map<ts.Node, ts.SignatureDeclaration> {
    const found = new Map<ts.Node, ts.SignatureDeclaration>();
    const visit = (node: ts.Node): void => {
      ts.forEachChild(node, visit);
      if (!ts.isObjectLiteralExpression(node)) return;
      const type = this.#checker.getContextualType(node);
      for (const property of node.properties) {
        const name = property.name?.getText() ?? '';
        const declared = type?.getProperty(name)?.declarations?.[0];
        const value = ts.isPropertyAssignment(property) ? property.initializer : property;
        if (declared !== undefined && ts.isFunctionLike(value) && !found.has(declared))
          found.set(declared, value);
      }
    };
    for (const file of this.#program.getSourceFiles())
      if (this.#toPath(file).startsWith(SOURCES)) visit(file);
    return found;
  }

  /** Returns the paths within an expression at which the value is. */
  #locate(node: ts.Expression, known: readonly Held[]): string[][] {
    for (const isTransparent of TRANSPARENT)
      if (isTransparent(node)) return this.#locate(node.expression, known);
    if (ts.isIdentifier(node))
      return this.#locateSymbol(this.#checker.getSymbolAtLocation(node), known);
    if (ts.isPropertyAccessExpression(node))
      return this.#locate(node.expression, known).flatMap(([first, ...path]) =>
        first === undefined ? [[]] : first === node.name.text ? [path] : [],
      );
    if (ts.isArrayLiteralExpression(node))
      return node.elements.flatMap((element) => this.#locate(element, known));
    if (ts.isConditionalExpression(node))
      return [node.whenTrue, node.whenFalse].flatMap((one) => this.#locate(one, known));
    if (!ts.isObjectLiteralExpression(node)) return [];
    return node.properties.flatMap((property) => {
      if (ts.isSpreadAssignment(property)) return this.#locate(property.expression, known);
      const name = property.name?.getText() ?? '';
      const paths = ts.isShorthandPropertyAssignment(property)
        ? this.#locateSymbol(this.#checker.getShorthandAssignmentValueSymbol(property), known)
        : ts.isPropertyAssignment(property)
          ? this.#locate(property.initializer, known)
          : [];
      return paths.map((path) => [name, ...path]);
    });
  }

  #locateSymbol(symbol: ts.Symbol | undefined, known: readonly Held[]): string[][] {
    return known.filter(({ variable }) => variable === symbol).map(({ path }) => path);
  }

  /** Returns the variables that hold the value where a pattern takes an object that has it at a path. */
  #bind(name: ts.BindingName, path: string[]): Held[] {
    if (ts.isIdentifier(name)) {
      const variable = this.#checker.getSymbolAtLocation(name);
      return variable === undefined ? [] : [{ variable, path }];
    }
    if (ts.isArrayBindingPattern(name)) return [];
    const [first, ...rest] = path;
    if (first === undefined)
      return name.elements.flatMap((element) => this.#bind(element.name, []));
    const taken = name.elements.find(
      (element) => (element.propertyName ?? element.name).getText() === first,
    );
    if (taken !== undefined) return this.#bind(taken.name, rest);
    const others = name.elements.find(({ dotDotDotToken }) => dotDotDotToken !== undefined);
    return others === undefined ? [] : this.#bind(others.name, path);
  }

  /** Returns the variable of that name among those of a parameter. */
  #bindNamed(name: ts.BindingName, wanted: string): Held[] {
    if (ts.isIdentifier(name)) return name.text === wanted ? this.#bind(name, []) : [];
    return name.elements.flatMap((element) =>
      ts.isBindingElement(element) ? this.#bindNamed(element.name, wanted) : [],
    );
  }

  #findFunction(file: string, name: string): ts.SignatureDeclaration {
    let found: ts.SignatureDeclaration | undefined;
    const visit = (node: ts.Node): void => {
      if (ts.isFunctionLike(node) && readName(node) === name) found ??= node;
      ts.forEachChild(node, visit);
    };
    const source = this.#program.getSourceFile(resolve(this.#root, file));
    if (source !== undefined) visit(source);
    if (found === undefined) throw new Error(`${file} has no function ${name}`);
    return found;
  }

  #toPath(node: ts.Node): string {
    return relative(this.#root, node.getSourceFile().fileName);
  }
}

function readName(node: ts.SignatureDeclaration): string | undefined {
  const name = node.name ?? (ts.isVariableDeclaration(node.parent) ? node.parent.name : undefined);
  return name?.getText();
}
