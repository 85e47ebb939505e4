import {
  Type,
  type Static,
  type TLiteral,
  type TNull,
  type TObject,
  type TOptional,
  type TProperties,
} from 'typebox';
import type { TSchema, TUnion, TUnsafe } from 'typebox';
import type { JsonText } from './json-text.ts';

/* Forms of which the messages of both walls are made. As schemas they describe the JSON between processes. */

const buildAttachmentSchema = <T>(form: 'bytes' | 'text'): TUnsafe<T> =>
  Type.Unsafe<T>({ type: 'integer', minimum: 0, 'x-attachment': form });

/** Describes bytes, which are an attachment. */
export const Bytes = buildAttachmentSchema<Uint8Array>('bytes');

/** Describes JSON text of a `T`, which is an attachment, so that it is not escaped once more. */
export const buildJsonTextSchema = <T>(): TUnsafe<JsonText<T>> =>
  buildAttachmentSchema<JsonText<T>>('text');

/** Describes a field that may be absent or undefined, which mean the same. */
export const buildOptionalSchema = <S extends TSchema>(
  schema: S,
): TOptional<TUnsafe<Static<S> | undefined>> =>
  Type.Optional(Type.Unsafe<Static<S> | undefined>(schema));

/** Describes the same shape, or null. */
export const buildNullUnionSchema = <S extends TSchema>(schema: S): TUnion<[S, TNull]> =>
  Type.Union([schema, Type.Null()]);

/** Describes a message of one kind. */
export const buildMessageSchema = <K extends string, F extends TProperties>(
  kind: K,
  fields: F,
): TObject<{ kind: TLiteral<K> } & F> => Type.Object({ kind: Type.Literal(kind), ...fields });

/** Variables of gx.json, which yield to those of the process. */
export const Variables = Type.Record(Type.String(), Type.String());

/** An export of a user's file, as gx.json names it: `./file.ts:export`. */
export const ModuleExport = Type.Object({ file: Type.String(), exportName: Type.String() });
export type ModuleExport = Static<typeof ModuleExport>;

/** The module of `encryption.path`, and how many seconds its handlers may take. */
export const CipherModule = Type.Object({ ...ModuleExport.properties, seconds: Type.Number() });
