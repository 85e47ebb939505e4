import type { PlainFailure } from './route.ts';

/** Codes of JSON-RPC 2.0, section 5.1. */
export const RPC_CODES = {
  parse: -32_700,
  invalidRequest: -32_600,
  invalidParams: -32_602,
  internal: -32_603,
} as const;

/** The code for refusals that JSON-RPC has none for; servers choose from -32000 to -32099. */
const REFUSED = -32_000;

/** Words a refusal of the whole request, whose id is not known, as the protocol has it. A 422 is a 400 here. */
export function buildRpcRefusal({ status, detail }: PlainFailure): {
  status: number;
  body: object;
} {
  const known =
    status === 422
      ? detail.includes('Invalid JSON')
        ? RPC_CODES.parse
        : RPC_CODES.invalidRequest
      : undefined;
  const code = known ?? (status >= 500 ? RPC_CODES.internal : REFUSED);
  return {
    status: status === 422 ? 400 : status,
    body: { jsonrpc: '2.0', id: null, error: { code, message: detail } },
  };
}
