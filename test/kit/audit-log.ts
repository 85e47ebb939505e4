import { readFileSync } from 'node:fs';

export type AuditEvent = {
  verb: string;
  userAgent: string;
  requestURI: string;
  objectRef?: { resource: string; namespace?: string; name?: string; subresource?: string };
  responseStatus?: { code: number };
};

/** Returns the requests that the API server answered to clients whose user agent begins so, oldest first. */
export function auditEvents(auditLog: string, userAgent: string): AuditEvent[] {
  const text = readFileSync(auditLog, 'utf8');
  // The last line may be incomplete.
  const lines = text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter(Boolean);
  return lines
    .map((line) => JSON.parse(line) as AuditEvent)
    .filter((event) => event.userAgent?.startsWith(userAgent));
}

/** Returns the permissions that the requests needed, each as its verb and its resource. */
export const rightsUsed = (requests: AuditEvent[]): Set<string> =>
  new Set(
    requests.map(
      ({ verb, objectRef }) =>
        `${verb} ${[objectRef?.resource, objectRef?.subresource].filter(Boolean).join('/')}`,
    ),
  );
