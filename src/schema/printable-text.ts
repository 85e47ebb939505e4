/**
 * Characters that a terminal obeys: commands to it, sequences that colour and move, and all control characters but the
 * tab.
 */
const OBEYED =
  // oxlint-disable-next-line no-control-regex -- these characters are taken out
  /\u001b\][^\u0007\u001b]*(\u0007|\u001b\\)?|(\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/g;

/** Returns a line as it may be printed: people print words of code that they have not read. */
export const toPrintable = (text: string): string => text.replaceAll(OBEYED, '');

/** Returns a text of several lines as it may be printed. */
export const toPrintableLines = (text: string): string =>
  text.split('\n').map(toPrintable).join('\n');
