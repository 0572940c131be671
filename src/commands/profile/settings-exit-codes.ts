/** What every command that changes settings may end in, but 0. */
export const settingsExitCodes = {
  2: 'wrong usage, nothing changed',
  10: 'the settings can’t be read or written; they are as they were',
  11: 'another listctl keeps writing them',
} as const;
