import { StartError } from '../../errors.ts';
import { CONNECTION_HEADERS } from '../../http/routes/connection-headers.ts';
import type { WebhookSettings } from '../../schema/agent/gx-json.ts';

/** The default of LangGraph's server. */
const PREFIX = 'LG_WEBHOOK_';

const VARIABLE = /\$\{\{\s*env\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/g;

/** Headers that the sending itself needs. */
const OWN = new Set([...CONNECTION_HEADERS, 'content-length', 'content-type', 'expect', 'host']);

const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
/** The characters of a header's value: visible Latin-1, spaces and tabs (RFC 9110). */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
export const isHeaderValue = (text: string): boolean => VALUE.test(text);

/**
 * Returns the headers of every webhook, by lower-case name, with the variables that they name. Throws a `StartError`
 * for a variable that is missing or that they may not name.
 */
export function buildWebhookHeaders(
  { headers = {}, env_prefix = PREFIX }: WebhookSettings,
  variable: (name: string) => string | undefined,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([given, template]) => {
      const name = given.toLowerCase();
      const refuse = (problem: string): never => {
        throw new StartError(`gx.json: "webhooks.headers.${given}" ${problem}.`);
      };
      if (!NAME.test(name)) refuse('is not the name of a header');
      if (OWN.has(name) || name.startsWith('webhook-'))
        refuse('is a header that the server sets itself');
      const value = template.replaceAll(VARIABLE, (_, found: string) => {
        if (!found.startsWith(env_prefix))
          refuse(
            `names the variable ${found}, which does not begin with ${env_prefix} (webhooks.env_prefix)`,
          );
        return variable(found) ?? refuse(`names the variable ${found}, which is not set`);
      });
      if (value.includes('${{')) refuse('must name variables as ${{ env.NAME }}');
      if (!isHeaderValue(value)) refuse('has a character that no header can have');
      return [name, value];
    }),
  );
}
