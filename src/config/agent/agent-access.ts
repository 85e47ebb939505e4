import type { SettingsReader } from '../env.ts';
import { isTrustworthy } from '../oidc.ts';

/** Whose tokens are accepted, and how they are checked. */
type TokenRules = {
  issuer: string;
  audiences: string[];
  jwksUrl: string | undefined;
  algorithms: string[];
  clockSkewSeconds: number;
};

/** `roleClaim` names the claim with a token's role; without it, every token may do everything. */
type AgentTokenRules = TokenRules & { roleClaim: string | undefined };

/** Who may call an agent whose gx.json names no handlers. Without any of these, everybody who reaches it. */
export type AgentAccess = {
  key: string | undefined;
  /** The folder with the key in files, which are read again when they change. */
  keyFolder: string | undefined;
  /** Where the deployment's tenant has its keys for the REST API checked, which open the agent, too. */
  tenantKeys: { url: string; deploymentId: string } | undefined;
  /** Whose tokens open the agent, too. */
  tokens: AgentTokenRules | undefined;
};

export const OPEN_ACCESS: AgentAccess = {
  key: undefined,
  keyFolder: undefined,
  tenantKeys: undefined,
  tokens: undefined,
};

/** Algorithms with which identity providers sign by default. */
const USUAL_ALGORITHMS = ['RS256', 'ES256'];
/** Seconds by which clocks may differ. */
const SKEW = 30;

/** Characters of the shortest key. The operator's have 47. */
const SHORTEST = 16;

/** Reads who may call. */
export function readAgentAccess(read: SettingsReader): AgentAccess {
  const key = read.readOptional(['GX_AGENT_KEY']);
  const keyFolder = read.readOptional(['GX_AGENT_KEY_FOLDER']);
  if (key !== undefined && keyFolder !== undefined)
    read.addProblem('GX_AGENT_KEY and GX_AGENT_KEY_FOLDER exclude each other');
  if (key !== undefined && key.length < SHORTEST)
    read.addProblem(`GX_AGENT_KEY must have at least ${SHORTEST} characters`);
  return { key, keyFolder, tenantKeys: readTenantKeys(read), tokens: readIssuer(read) };
}

function readTenantKeys(read: SettingsReader): AgentAccess['tenantKeys'] {
  const url = read.readOptional(['GX_AUTH_CHECK_URL']);
  const deploymentId = read.readOptional(['GX_DEPLOYMENT_ID']);
  if (url === undefined) return undefined;
  if (!/^https?:\/\/[^/]/.test(url))
    read.addProblem('GX_AUTH_CHECK_URL must be an http or https address');
  if (deploymentId === undefined)
    read.addProblem('GX_AUTH_CHECK_URL is set without GX_DEPLOYMENT_ID');
  return { url: url.replace(/\/$/, ''), deploymentId: deploymentId ?? '' };
}

function readIssuer(read: SettingsReader): AgentAccess['tokens'] {
  const [issuer, jwksUrl] = [
    read.readOptional(['GX_AUTH_ISSUER']),
    read.readOptional(['GX_AUTH_JWKS_URL']),
  ];
  const [audiences, roleClaim] = [
    read.readWords(['GX_AUTH_AUDIENCE']),
    read.readOptional(['GX_AUTH_ROLE_CLAIM']),
  ];
  if (issuer === undefined) {
    const isNamed = audiences.length > 0 || jwksUrl !== undefined || roleClaim !== undefined;
    if (isNamed)
      read.addProblem(
        'GX_AUTH_AUDIENCE, GX_AUTH_JWKS_URL and GX_AUTH_ROLE_CLAIM need GX_AUTH_ISSUER',
      );
    return undefined;
  }
  for (const [name, address] of Object.entries({
    GX_AUTH_ISSUER: issuer,
    GX_AUTH_JWKS_URL: jwksUrl,
  }))
    if (address !== undefined && !isTrustworthy(address))
      read.addProblem(`${name} must be an https address (http only on localhost)`);
  if (audiences.length === 0)
    read.addProblem('GX_AUTH_AUDIENCE is not set (the value of aud in tokens for this agent)');
  return {
    issuer,
    audiences,
    jwksUrl,
    roleClaim,
    algorithms: USUAL_ALGORITHMS,
    clockSkewSeconds: SKEW,
  };
}
