import { objectFrom } from '../../json.ts';
import type { View } from '../../output/view.ts';
import type { Profile } from '../../settings/profile.ts';

/** A profile, as it is shown. */
export interface ShownProfile extends Profile {
  /** Whether it is the one that is used where none is named. */
  readonly isCurrent: boolean;
}

/** One profile as a list of what it sets, several as a table. No token is in a profile. */
export const profileView: View<ShownProfile> = {
  pretty: async (profiles, screen) => {
    const { drawRows } = await import('../../output/row-table.ts');
    return drawRows(profiles.map(rowOf), screen, undefined);
  },
  json: (profile) => objectFrom(rowOf(profile)),
  id: ({ name }) => name,
  row: rowOf,
};

function rowOf({ name, isCurrent, values }: ShownProfile): ReadonlyMap<string, string | boolean> {
  return new Map<string, string | boolean>([['name', name], ['current', isCurrent], ...Object.entries(values)]);
}
