/** Returns whether a value of a setting in JSON is as it must be. */
export type SettingCheck = (value: unknown) => boolean;

export const isAnyText: SettingCheck = (value) => typeof value === 'string';
export const isNonEmptyText: SettingCheck = (value) => typeof value === 'string' && value !== '';

/** Returns the check of a list by that of each of its values. */
export const buildListCheck =
  (check: SettingCheck): SettingCheck =>
  (value) =>
    Array.isArray(value) && value.every(check);
