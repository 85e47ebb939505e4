import type { SettingsReader } from '../env.ts';

/** Where a process reports its work, and the folder with the key that it shows there. Undefined: nowhere. */
export type WorkReportSettings = { url: string; keyFolder: string } | undefined;

/** Reads where work is reported. */
export function readWorkReportSettings(read: SettingsReader): WorkReportSettings {
  const url = read.readOptional(['GX_REPORT_URL']);
  const keyFolder = read.readOptional(['GX_REPORT_KEY_FOLDER', 'GX_AGENT_KEY_FOLDER']);
  if (url === undefined) return undefined;
  if (!/^https?:\/\/[^/]/.test(url))
    read.addProblem('GX_REPORT_URL must be an http or https address');
  if (keyFolder === undefined) read.addProblem('GX_REPORT_URL is set without GX_REPORT_KEY_FOLDER');
  return { url, keyFolder: keyFolder ?? '' };
}
