import { Conflict, Forbidden, NotFound, Problem, Unavailable } from '../errors.ts';
import { isComposite } from '../schema/json.ts';

export type KubeCause = { field: string; reason: string; message: string };

/**
 * The API server refused the object itself, by a schema, a CEL rule or an immutable field. The message is its own, and
 * `causes` names the fields.
 */
export class KubeRefused extends Problem {
  override name = 'KubeRefused';
  readonly reason: string;
  readonly causes: KubeCause[];

  constructor(status: number, message: string, details: { reason: string; causes: KubeCause[] }) {
    super(status, message);
    this.reason = details.reason;
    this.causes = details.causes;
  }
}

/** Returns the error for a name that somebody else's object has; `what` reads like `Service chat-agent`. */
export const buildNameTaken = (what: string): KubeRefused =>
  new KubeRefused(
    409,
    `${what} already exists and belongs to somebody else, so it is left alone.`,
    {
      reason: 'AlreadyExists',
      causes: [],
    },
  );

/** 403 because of the object, not because of the caller's permissions: a quota or an admission policy refused it. */
export class Denied extends Forbidden {
  override name = 'Denied';
  readonly isQuota: boolean;

  constructor(message: string) {
    super(message);
    this.isQuota = QUOTA.test(message);
  }
}

const QUOTA = /exceeded quota|failed quota|status unknown for quota/;
const POLICY = /denied (the )?request|ValidatingAdmissionPolicy/;

/**
 * 409 to a creation: an object of this name exists. Any other 409 to a creation, such as a quota counted twice at once,
 * made nothing.
 */
export class AlreadyExists extends Conflict {
  override name = 'AlreadyExists';
}

/** 410: the resource version or continue token is too old; list again. */
export class Expired extends Problem {
  override name = 'Expired';
  constructor(message: string) {
    super(410, message);
  }
}

/** The answer is longer than its reader takes; ask for less. */
export class AnswerTooLong extends Problem {
  override name = 'AnswerTooLong';
  constructor(bytes: number) {
    super(502, `the API server's answer is longer than ${bytes} bytes`);
  }
}

type Status = {
  message?: string;
  reason?: string;
  details?: { causes?: { field?: string; reason?: string; message?: string }[] };
};

const parseStatus = (body: string): Status => {
  try {
    const value = JSON.parse(body) as unknown;
    return isComposite(value) ? value : {};
  } catch {
    return { message: body.slice(0, 512) };
  }
};

/**
 * A JSON patch that does not fit the object, by a failed `test` or a missing path, is a lost race. The API server
 * answers 422 with this text and no cause.
 */
const PATCH_DOES_NOT_FIT = 'the server rejected our request due to an error in our request';

const isFailedTest = (causes: KubeCause[], message: string): boolean =>
  [message, ...causes.map((cause) => cause.message)].some(
    (text) => text === PATCH_DOES_NOT_FIT || text.includes('test failed'),
  );

const readCauses = ({ details }: Status): KubeCause[] =>
  (details?.causes ?? []).map(({ field = '', reason = '', message = '' }) => ({
    field,
    reason,
    message,
  }));

/**
 * The API server answers 500 to a server-side apply of an object that does not fit its schema: by an unknown field, a
 * name given twice or a bad quantity.
 */
const DOES_NOT_FIT = /^failed to (create typed patch|convert new) object/;

/**
 * Returns true for failures that are not the object's fault: no answer, a busy server, or a token that has just
 * expired.
 */
const mayPass = (status: number, message: string): boolean =>
  (status < 400 || status >= 500 || status === 401 || status === 429) &&
  !DOES_NOT_FIT.test(message);

const buildForbidden = (message: string): Forbidden =>
  QUOTA.test(message) || POLICY.test(message) ? new Denied(message) : new Forbidden(message);

/** Turns an answer of the API server that is not 2xx into an error that says what can be done next. */
export function buildKubeError(status: number, body: string): Problem {
  const parsed = parseStatus(body);
  const { message = `the API server answered ${status}`, reason = '' } = parsed;
  const causes = readCauses(parsed);
  if (mayPass(status, message)) return new Unavailable(message);
  if (status === 403) return buildForbidden(message);
  if (status === 404) return new NotFound(message);
  if (reason === 'AlreadyExists') return new AlreadyExists(message);
  if (status === 409 || (status === 422 && isFailedTest(causes, message)))
    return new Conflict(message);
  if (status === 410) return new Expired(message);
  return new KubeRefused(Math.min(status, 422), message, { reason, causes });
}
