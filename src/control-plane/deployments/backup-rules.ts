import type { DatabaseBackup } from '../../schema/platform/backup/backup-asked.ts';
import { scheduleFault } from '../../schema/platform/backup/backup-schedule.ts';
import type { DeploymentPatchRequest } from '../../schema/platform/deployment/deployment.ts';
import type { Broken } from './rules.ts';
import { isPresent } from '../../schema/json.ts';

const AT = 'source_config.database_backup';
const PATHS = { schedule: `${AT}.schedule`, timeZone: `${AT}.time_zone` };

/** Returns the rules that the settings of backups break in a create or a patch. */
export function checkBackupSettings(
  { source_config }: DeploymentPatchRequest,
  { hasDatabase, now }: { hasDatabase: boolean; now: Date },
): Broken[] {
  const asked = source_config?.database_backup ?? {};
  if (!Object.values(asked).some(isPresent)) return [];
  return [
    ...(hasDatabase
      ? []
      : [
          `${AT}: only for a managed database; an external one is backed up by its own administrator`,
        ]),
    ...(isPresent(asked.target) ? [] : [`${AT}.target: required`]),
    ...checkTimes(asked, now),
    ...checkKeep(asked),
  ];
}

function checkTimes({ schedule, time_zone: timeZone }: DatabaseBackup, now: Date): Broken[] {
  if (!isPresent(schedule))
    return isPresent(timeZone) ? [`${PATHS.timeZone}: only beside a schedule`] : [];
  const fault = scheduleFault({ schedule, ...(isPresent(timeZone) && { timeZone }) }, now, PATHS);
  return fault === undefined ? [] : [fault.replace(/\.$/, '')];
}

const checkKeep = ({ keep }: DatabaseBackup): Broken[] =>
  isPresent(keep) && isPresent(keep.count) === isPresent(keep.days)
    ? [`${AT}.keep: either count or days`]
    : [];
