import type { ts } from '@ts-morph/common';

/** The compiler that the user's project brings: TypeScript 5 or 6, whose interfaces are the same here. */
export type Compiler = typeof ts;
export type TypedProject = { compiler: Compiler; program: ts.Program };
export type JsonSchema = Record<string, unknown>;

const MOST_TYPES = 5000;
/** The most levels of one type within itself. A type that refers to itself with ever new arguments ends here. */
const DEEPEST = 3;

const MESSAGE: { name: string; schema: JsonSchema } = {
  name: 'BaseMessage',
  schema: {
    type: 'object',
    properties: {
      type: { type: 'string' },
      content: {},
      id: { type: 'string' },
      name: { type: 'string' },
    },
  },
};

/** Describes one type, with the types that it refers to, as JSON Schema (draft 7). */
export class TypeSchema {
  readonly #compiler: Compiler;
  readonly #program: ts.Program;
  readonly #checker: ts.TypeChecker;
  readonly #named = new Map<ts.Type, string>();
  readonly #definitions: Record<string, JsonSchema> = {};
  /** Declaration -> levels of it that are being described. */
  readonly #open = new Map<ts.Symbol, number>();
  #count = 0;

  constructor({ compiler, program }: TypedProject) {
    this.#compiler = compiler;
    this.#program = program;
    this.#checker = program.getTypeChecker();
  }

  /** Returns the schema of an object type; null where the type says nothing. */
  buildSchema(type: ts.Type): JsonSchema | null {
    const { Any, Unknown, Never } = this.#compiler.TypeFlags;
    if (type.flags & (Any | Unknown | Never)) return null;
    const schema = this.#toMembers(type);
    const definitions = Object.keys(this.#definitions).length > 0 && {
      definitions: this.#definitions,
    };
    return { ...schema, ...definitions, $schema: 'http://json-schema.org/draft-07/schema#' };
  }

  /** Returns the schema of a type; undefined for a type that JSON does not have, such as a function. */
  #toSchema(type: ts.Type): JsonSchema | undefined {
    const { TypeFlags: flag } = this.#compiler;
    this.#count += 1;
    if (type.flags & (flag.Any | flag.Unknown) || this.#count > MOST_TYPES) return {};
    if (type.isUnion() && !(type.flags & flag.Boolean)) return this.#toChoice(type);
    if (type.flags & (flag.Object | flag.Intersection)) return this.#toObject(type);
    if (type.flags & flag.Instantiable && !(type.flags & flag.StringLike))
      return this.#toConstraint(type);
    return this.#toPrimitive(type);
  }

  #toPrimitive(type: ts.Type): JsonSchema | undefined {
    const { TypeFlags: flag } = this.#compiler;
    const literal = this.#getLiteral(type);
    if (literal !== undefined) return { type: typeof literal, enum: [literal] };
    if (type.flags & (flag.StringLike | flag.BigIntLike)) return { type: 'string' };
    if (type.flags & flag.NumberLike) return { type: 'number' };
    if (type.flags & flag.BooleanLike) return { type: 'boolean' };
    if (type.flags & flag.Null) return { type: 'null' };
    return type.flags & flag.NonPrimitive ? { type: 'object' } : undefined;
  }

  #getLiteral(type: ts.Type): string | number | boolean | undefined {
    if (type.isStringLiteral() || type.isNumberLiteral()) return type.value;
    if (!(type.flags & this.#compiler.TypeFlags.BooleanLiteral)) return undefined;
    return this.#checker.typeToString(type) === 'true';
  }

  #toConstraint(type: ts.Type): JsonSchema | undefined {
    const constraint = this.#checker.getBaseConstraintOfType(type);
    return constraint === undefined || constraint === type ? {} : this.#toSchema(constraint);
  }

  /** Describes a choice. One that holds objects may refer to itself, so it is described once under its name. */
  #toChoice(type: ts.UnionType): JsonSchema | undefined {
    const name = type.types.some((one) => one.flags & this.#compiler.TypeFlags.Object)
      ? this.#chooseName(type)
      : undefined;
    const build = (): JsonSchema | undefined => this.#toUnion(type.types);
    return name === undefined
      ? this.#buildInPlace(type, build)
      : this.#toReference(type, name, build);
  }

  #toUnion(all: ts.Type[]): JsonSchema | undefined {
    // A node writes this to bypass a reducer; no client sends it.
    const members = all.filter((one) => !has(one, '__overwrite__'));
    if (members.some((one) => this.#isMessages(one))) return this.#messages();
    if (members.some(isMessage)) return this.#addMessage();
    const literals = members
      .map((one) => this.#getLiteral(one))
      .filter((value) => value !== undefined);
    const others = members
      .filter((one) => this.#getLiteral(one) === undefined)
      .map((one) => this.#toSchema(one));
    const parts = [...buildValueSchemas(literals), ...others.filter((part) => part !== undefined)];
    return parts.length > 1 ? { anyOf: parts } : parts[0];
  }

  #toObject(type: ts.Type): JsonSchema | undefined {
    if (this.#isMessages(type)) return this.#messages();
    if (isMessage(type)) return this.#addMessage();
    if (this.#checker.isArrayType(type))
      return { type: 'array', items: this.#toSchema(this.#argumentsOf(type)[0]!) ?? {} };
    if (this.#checker.isTupleType(type)) return this.#toTuple(type as ts.TupleTypeReference);
    const builtIn = this.#toBuiltIn(type);
    if (builtIn !== undefined) return builtIn;
    if (type.getCallSignatures().length > 0 || type.getConstructSignatures().length > 0)
      return undefined;
    const name = this.#chooseName(type);
    const build = (): JsonSchema => this.#toMembers(type);
    return name === undefined
      ? this.#buildInPlace(type, build)
      : this.#toReference(type, name, build);
  }

  #toTuple(type: ts.TupleTypeReference): JsonSchema {
    const items = this.#argumentsOf(type).map((one) => this.#toSchema(one) ?? {});
    const { minLength, fixedLength, hasRestElement } = type.target;
    return {
      type: 'array',
      items: items.slice(0, fixedLength),
      minItems: minLength,
      ...(!hasRestElement && { maxItems: fixedLength }),
    };
  }

  /** Describes a class of the language itself. Only a date has a form in JSON. */
  #toBuiltIn(type: ts.Type): JsonSchema | undefined {
    const { Class, Interface } = this.#compiler.SymbolFlags;
    const declared = type.getSymbol();
    if (declared === undefined || !(declared.flags & (Class | Interface))) return undefined;
    const files = declared.declarations?.map((one) => one.getSourceFile()) ?? [];
    if (!files.some((file) => this.#program.isSourceFileDefaultLibrary(file))) return undefined;
    return declared.name === 'Date' ? { type: 'string', format: 'date-time' } : {};
  }

  #buildInPlace(type: ts.Type, build: () => JsonSchema | undefined): JsonSchema | undefined {
    const declared = type.aliasSymbol ?? type.getSymbol();
    if (declared === undefined) return build();
    const levels = this.#open.get(declared) ?? 0;
    if (levels >= DEEPEST) return {};
    this.#open.set(declared, levels + 1);
    const schema = build();
    this.#open.set(declared, levels);
    return schema;
  }

  #toReference(type: ts.Type, wanted: string, build: () => JsonSchema | undefined): JsonSchema {
    const known = this.#named.get(type);
    if (known !== undefined) return { $ref: `#/definitions/${known}` };
    const name = this.#addDefinition(type, wanted, {});
    this.#definitions[name] = this.#buildInPlace(type, build) ?? {};
    return { $ref: `#/definitions/${name}` };
  }

  #addDefinition(type: ts.Type, wanted: string, schema: JsonSchema): string {
    let name = wanted;
    for (let next = 2; Object.hasOwn(this.#definitions, name); next += 1)
      name = `${wanted}_${next}`;
    this.#named.set(type, name);
    this.#definitions[name] = schema;
    return name;
  }

  #toMembers(type: ts.Type): JsonSchema {
    const properties: Record<string, JsonSchema> = {};
    const required: string[] = [];
    for (const property of this.#checker.getPropertiesOfType(type)) {
      if (!this.#isData(property)) continue;
      const held = this.#checker.getTypeOfSymbol(property);
      const schema = this.#toSchema(held);
      if (schema === undefined) continue;
      const description = this.#compiler.displayPartsToString(
        property.getDocumentationComment(this.#checker),
      );
      properties[property.name] = { ...schema, ...(description !== '' && { description }) };
      if (!this.#mayBeAbsent(property, held)) required.push(property.name);
    }
    return {
      type: 'object',
      properties,
      ...(required.length > 0 && { required }),
      ...this.#toIndexSchema(type),
    };
  }

  #toIndexSchema(type: ts.Type): JsonSchema {
    const index = this.#checker
      .getIndexInfosOfType(type)
      .find(({ keyType }) => keyType.flags & this.#compiler.TypeFlags.String);
    const schema = index && this.#toSchema(index.type);
    return schema === undefined || Object.keys(schema).length === 0
      ? {}
      : { additionalProperties: schema };
  }

  /** Returns whether the property is data. JSON has no symbols as names, and private members of a class are no data. */
  #isData(property: ts.Symbol): boolean {
    const { valueDeclaration: declared } = property;
    const hidden =
      declared &&
      this.#compiler.getCombinedModifierFlags(declared) &
        this.#compiler.ModifierFlags.NonPublicAccessibilityModifier;
    return !hidden && !property.name.startsWith('__@') && !property.name.startsWith('#');
  }

  #mayBeAbsent(property: ts.Symbol, held: ts.Type): boolean {
    const { SymbolFlags, TypeFlags } = this.#compiler;
    if (property.flags & SymbolFlags.Optional) return true;
    return held.isUnion() && held.types.some((one) => one.flags & TypeFlags.Undefined);
  }

  /** Returns the name under which a type is described once: its own, or that of an alias without arguments. */
  #chooseName(type: ts.Type): string | undefined {
    if (type.aliasSymbol !== undefined)
      return type.aliasTypeArguments === undefined ? type.aliasSymbol.name : undefined;
    const declared = type.getSymbol();
    const { Class, Interface } = this.#compiler.SymbolFlags;
    return declared !== undefined && declared.flags & (Class | Interface)
      ? declared.name
      : undefined;
  }

  #argumentsOf = (type: ts.Type): readonly ts.Type[] =>
    this.#checker.getTypeArguments(type as ts.TypeReference);

  #isMessages(type: ts.Type): boolean {
    if (!this.#checker.isArrayType(type)) return false;
    const item = this.#argumentsOf(type)[0]!;
    return item.isUnion() ? item.types.some(isMessage) : isMessage(item);
  }

  #addMessage(): JsonSchema {
    this.#definitions[MESSAGE.name] = MESSAGE.schema;
    return { $ref: `#/definitions/${MESSAGE.name}` };
  }

  /** Describes messages, with the mark by which clients know what to show as a chat. */
  #messages = (): JsonSchema => ({
    type: 'array',
    items: this.#addMessage(),
    langgraph_type: 'messages',
  });
}

const has = (type: ts.Type, ...names: string[]): boolean =>
  names.every((name) => type.getProperty(name) !== undefined);

/** Knows a message by its shape, because the project brings its own copy of the message classes. */
const isMessage = (type: ts.Type): boolean => has(type, '_getType', 'content', 'additional_kwargs');

function buildValueSchemas(literals: (string | number | boolean)[]): JsonSchema[] {
  const isBoolean = literals.includes(true) && literals.includes(false);
  const rest = isBoolean ? literals.filter((value) => typeof value !== 'boolean') : literals;
  const kinds = [...new Set(rest.map((value) => typeof value))];
  return [
    ...(rest.length > 0 ? [{ type: kinds.length === 1 ? kinds[0] : kinds, enum: rest }] : []),
    ...(isBoolean ? [{ type: 'boolean' }] : []),
  ];
}
