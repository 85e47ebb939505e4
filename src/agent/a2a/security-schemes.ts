import { type Json, isObject } from '../../schema/json.ts';

/* How a caller is let in, as agent cards say it. */

/** How callers are let in: schemes of OpenAPI by their names, and which of them are required together, if declared. */
export type Door = { guarded: boolean; schemes: Json; required: unknown };

/** The names under which version 1.0 has the schemes of OpenAPI. */
const NEWER: Record<string, (scheme: Json) => Json> = {
  apiKey: ({ in: location, name }) => ({ apiKeySecurityScheme: { location, name } }),
  http: ({ scheme, bearerFormat }) => ({
    httpAuthSecurityScheme: { scheme, ...(bearerFormat !== undefined && { bearerFormat }) },
  }),
  oauth2: ({ flows }) => ({ oauth2SecurityScheme: { flows } }),
  openIdConnect: ({ openIdConnectUrl }) => ({ openIdConnectSecurityScheme: { openIdConnectUrl } }),
  mutualTLS: () => ({ mtlsSecurityScheme: {} }),
};

/** Returns the scheme in the words of both versions: 0.3 has those of OpenAPI. */
function toBothVersions(scheme: Json): Json {
  const newer = NEWER[String(scheme['type'])]?.(scheme) ?? {};
  const { description } = scheme;
  const described = typeof description === 'string' ? { description } : {};
  return {
    ...scheme,
    ...Object.fromEntries(
      Object.entries(newer).map(([name, value]) => [name, { ...(value as Json), ...described }]),
    ),
  };
}

/** Returns the fields of a card, in the words of both versions. None says that nothing is needed. */
export function buildSecurityFields({ schemes, required }: Door): Json {
  const named = Object.entries(schemes).filter((entry): entry is [string, Json] =>
    isObject(entry[1]),
  );
  if (named.length === 0) return {};
  const any = Array.isArray(required)
    ? required.filter(isObject)
    : named.map(([name]) => ({ [name]: [] }));
  const newer = any.map((together) => ({
    schemes: Object.fromEntries(
      Object.entries(together).map(([name, scopes]) => [
        name,
        { list: Array.isArray(scopes) ? scopes : [] },
      ]),
    ),
  }));
  return {
    securitySchemes: Object.fromEntries(
      named.map(([name, scheme]) => [name, toBothVersions(scheme)]),
    ),
    securityRequirements: newer,
    security: any,
  };
}
