/** Exit code 1, where nothing is asked of a service. */
export const misfit = '--query does not fit what came';

/** What every command that changes settings may end in, but 0. */
export const settingsExitCodes = {
  1: misfit,
  2: 'wrong usage, nothing changed',
  10: 'the settings can’t be read or written; they are as they were',
  11: 'another listctl keeps writing them',
} as const;
