/** The message of a 404 about a route. One about a record names it. */
const NO_ROUTE = /^(?:Not Found|It does not exist, or no longer\.)$/;

/** Returns why a list can't be shown, in a sentence: the agent has no such list, or the reader may not see it. */
export function listRefusal(
  { status, message }: { status?: number; message: string },
  things: string,
): string {
  if (status === 405 || (status === 404 && NO_ROUTE.test(message)))
    return `This agent does not serve ${things}.`;
  if (status === 403) return `This agent does not let you see ${things}.`;
  return message;
}
