/** One place of bad input. `loc` is the path to it in FastAPI's form (`["body", "source_config", "repo_url"]`). */
export type FieldError = { loc: (string | number)[]; msg: string; type: string };

/*
 * A part of a caller's input may come back in an error's message. The bounds below keep an answer to bad input under 64
 * KB, however large the input was.
 */
const LONGEST_MESSAGE = 8000;
const LONGEST_NAME = 200;
const LONGEST_PATH = 20;
/** Faults that one answer names. The others show when these are repaired. */
export const MOST_FAULTS = 20;

/** Returns the text, cut where it is longer than `longest`. */
export const limitText = (text: string, longest: number): string =>
  // Half of a surrogate pair can't be sent, so a cut between the halves drops both.
  text.length <= longest ? text : `${text.slice(0, longest).replace(/[\uD800-\uDBFF]$/, '')}...`;

const limitFieldError = ({ loc, msg, type }: FieldError): FieldError => ({
  loc: loc
    .slice(0, LONGEST_PATH + 1)
    .map((part) => (typeof part === 'string' ? limitText(part, LONGEST_NAME) : part)),
  msg: limitText(msg, LONGEST_MESSAGE / MOST_FAULTS),
  type,
});

/**
 * A failure that is reported to the caller. The class says what the caller can do next; `status` is its HTTP status. A
 * plain `Error` is a bug and becomes a 500 whose message is never shown.
 */
export class Problem extends Error {
  override name = 'Problem';
  readonly status: number;
  readonly headers: Record<string, string>;

  constructor(
    status: number,
    message: string,
    options: ErrorOptions & { headers?: Record<string, string> } = {},
  ) {
    super(limitText(message, LONGEST_MESSAGE), options);
    this.status = status;
    this.headers = options.headers ?? {};
  }
}

const buildProblemClass = (status: number, name: string) =>
  class extends Problem {
    override name = name;
    constructor(message: string, options?: ErrorOptions & { headers?: Record<string, string> }) {
      super(status, message, options);
    }
  };

/** 400: the request is well formed, but a rule of the domain forbids it. The message begins with the field's path. */
export class Rejected extends buildProblemClass(400, 'Rejected') {}

/** 401: the caller sent no credentials, or wrong ones. */
export class Unauthorized extends buildProblemClass(401, 'Unauthorized') {}

/** 403: the caller is known but lacks the permission. */
export class Forbidden extends buildProblemClass(403, 'Forbidden') {}

/** 404: the object does not exist, or is not the caller's. */
export class NotFound extends buildProblemClass(404, 'NotFound') {}

/** 409: the object is taken, busy, or was changed in between. */
export class Conflict extends buildProblemClass(409, 'Conflict') {}

/** 422: the input has a wrong shape or type, lacks a field or has an unknown one. `fields` names each place. */
export class Invalid extends Problem {
  override name = 'Invalid';
  readonly fields: FieldError[];
  constructor(fields: FieldError[], options?: ErrorOptions) {
    const shown = fields.slice(0, MOST_FAULTS).map(limitFieldError);
    super(422, shown.map((field) => `${field.loc.join('.')}: ${field.msg}`).join('; '), options);
    this.fields = shown;
  }
}

/** 503: something that this server needs does not answer. The same request may succeed later. */
export class Unavailable extends buildProblemClass(503, 'Unavailable') {}

/** Exit codes that tell why a process could not start. The operator sees only the code, and knows them. */
export const EXIT = { failed: 1, migration: 3, database: 4 } as const;

/** A process can't start or go on. The message is one sentence for a person, and is printed without a stack. */
export class StartError extends Error {
  override name = 'StartError';
  readonly exitCode: number;

  constructor(message: string, options: ErrorOptions & { exitCode?: number } = {}) {
    super(message, options);
    this.exitCode = options.exitCode ?? EXIT.failed;
  }
}

/**
 * A stage of a build from git can't go on. `reason` is one of those that the stages report
 * (src/schema/wire/build-message.ts); the message is one sentence that says what to do.
 */
export class StageFailed extends StartError {
  override name = 'StageFailed';
  readonly reason: string;

  constructor(reason: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** Returns any thrown value as an `Error`, so that `cause` and logs always hold one. */
export function toError(thrown: unknown): Error {
  try {
    if (thrown instanceof Error) return thrown;
    return new Error(typeof thrown === 'string' ? thrown : `thrown: ${String(thrown)}`);
  } catch {
    return new Error('thrown: something that can not be printed');
  }
}

/** Handles the rejection of a call whose object may be gone, which then has no result. */
export function skipNotFound(error: unknown): undefined {
  if (error instanceof NotFound) return undefined;
  throw error;
}
