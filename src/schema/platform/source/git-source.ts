import type { CelRule } from '../../types.ts';

/*
 * Which addresses and references of repositories, and which names of images, are taken. Git would also read some as
 * options, as commands (`ext::`) or as folders of its own machine. The doors of a deployment (REST and the CRD) and
 * the builder ask the same rules.
 */

/** A rule about a text. The expressions have the syntax of RE2, because the API server checks them, too. */
type SourceRule = { sentence: string } & ({ needs: string } | { forbids: string });

const HOST = String.raw`[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?`;
const PORT = '(:[0-9]{1,5})?';
const USER = '[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}@';
/** A part of a path. None begins with a dash, which programs take for an option. */
const SEGMENT = '[A-Za-z0-9._~+%@][A-Za-z0-9._~+%@-]*';
const PATH = `(/${SEGMENT})+/?`;

const WEB = `https?://${HOST}${PORT}${PATH}`;
const SSH = `ssh://(${USER})?${HOST}${PORT}${PATH}`;
/** `git@host:owner/name`, which git takes for ssh. */
const SCP = `${USER}${HOST}:${SEGMENT}(/${SEGMENT})*`;

export const LONGEST_REPO_URL = 2048;

const REPO_URL_RULES: SourceRule[] = [
  {
    forbids: '^https?://[^/]*@',
    sentence:
      'the address names a user or a token before the @: leave it out; the credential of the integration is used',
  },
  {
    forbids: String.raw`(^|/)[.][.](/|$)`,
    sentence: 'the path of the address must not contain ".."',
  },
  {
    needs: `^(${WEB}|${SSH}|${SCP})$`,
    sentence:
      'the address must begin with https:// or ssh://, or have the form git@host:owner/name, with a name for its host',
  },
  // Git reads a number behind the colon as the first part of a path.
  {
    forbids: `^${USER}${HOST}:[0-9]+/`,
    sentence: 'an ssh address with a port must begin with ssh://',
  },
];

export const LONGEST_REPO_REF = 255;

/** The rules of git-check-ref-format, and no name begins with a dash. */
const REPO_REF_RULES: SourceRule[] = [
  { forbids: '^-', sentence: 'a reference must not begin with "-"' },
  {
    forbids: '^refs/([^t]|t[^a]|ta[^g]|tag[^s]|tags[^/]|t?$|tag?$|tags$)',
    sentence: 'a branch is named by its bare name, a tag as refs/tags/...',
  },
  {
    forbids: String.raw`(^|/)([.]|/|$)|[.]lock(/|$)`,
    sentence: 'no part of a reference may be empty, begin with "." or end with ".lock"',
  },
  {
    forbids: String.raw`[\x00-\x20\x7f~^:?*\[\\]|[.][.]|@\{|[.]$|^@$`,
    sentence: 'a reference must not contain spaces, "..", "@{" or any of ~^:?*[\\',
  },
];

/** A part of an image's path, by the grammar of image references. */
const STEP = '[a-z0-9]+(([.]|_|__|-+)[a-z0-9]+)*';
const TAG = '(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?';
const DIGEST = '(@[A-Za-z][A-Za-z0-9+._-]*:[0-9a-fA-F]{32,})?';

const IMAGE_RULES: SourceRule[] = [
  {
    forbids: '^[A-Za-z]+://',
    sentence:
      'an image must not have a protocol before its registry, as in registry.example.com/team/agent:1.0',
  },
  {
    needs: `^((${HOST}|\\[[0-9A-Fa-f:]+\\])${PORT}/)?${STEP}(/${STEP})*${TAG}${DIGEST}$`,
    sentence:
      'an image must have a name in lowercase, followed by a tag or a digest, such as registry.example.com/team/agent:1.0',
  },
];

const findBrokenRule = (text: string, rules: readonly SourceRule[]): string | undefined =>
  rules.find((rule) =>
    'needs' in rule ? !new RegExp(rule.needs).test(text) : new RegExp(rule.forbids).test(text),
  )?.sentence;

/** Returns the fault of a repository's address, as a sentence; undefined when it can be cloned. */
export function checkGitUrl(
  url: string,
  { insecure = false }: { insecure?: boolean } = {},
): string | undefined {
  if (url.length > LONGEST_REPO_URL)
    return `the address has more than ${LONGEST_REPO_URL} characters`;
  const fault = findBrokenRule(url, REPO_URL_RULES);
  if (fault !== undefined || insecure || !url.startsWith('http://')) return fault;
  return 'plain http shows the credential to everyone on the way; use https';
}

/**
 * Returns the fault of a branch's bare name or a tag's full one (`refs/tags/...`), as a sentence; undefined when it has
 * none.
 */
export function checkGitRef(ref: string): string | undefined {
  if (ref === '' || ref.length > LONGEST_REPO_REF)
    return `a reference has 1 to ${LONGEST_REPO_REF} characters`;
  return findBrokenRule(ref, REPO_REF_RULES);
}

/** Returns the fault of an image's name, as a sentence; undefined when a node could look for it. */
export const findImageFault = (image: string): string | undefined =>
  findBrokenRule(image, IMAGE_RULES);

const toCelRules = (rules: readonly SourceRule[]): CelRule[] =>
  rules.map((rule) => ({
    rule: 'needs' in rule ? `self.matches(r'${rule.needs}')` : `!self.matches(r'${rule.forbids}')`,
    message: rule.sentence,
  }));

/** The same rules, as the API server checks them. Whether an integration takes plain http is its own matter. */
export const REPO_URL_CEL = toCelRules(REPO_URL_RULES);
export const REPO_REF_CEL = toCelRules(REPO_REF_RULES);
export const IMAGE_CEL = toCelRules(IMAGE_RULES);

/** A commit's full name, by SHA-1 or SHA-256. */
export const COMMIT = /^([0-9a-f]{40}|[0-9a-f]{64})$/;
