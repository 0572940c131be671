import { printJson } from '../../../src/core/json.ts';
import { parseYaml, YamlSyntaxError, yamlDocument } from '../../../src/core/yaml.ts';
import { type FuzzTarget, mustHold } from '../target.ts';

export const yamlWords: readonly string[] = [
  ...'- ·? ·: ·&a ·*a·!!str ·!a ·!!binary ·| ·|2-\n·>+\n·---\n·...\n·%YAML 1.1\n'.split('·'),
  ...'# ·{·}·[·]·, ·"·\'·\\x·\\u·\n·\n  ·\n\t·\t·<<: *a·<<·~·.inf·.nan'.split('·'),
  ...'0x1f·0o17·+1·1_0·key: ·items:\n·true·null·@·`·\ufeff·\u2028·\u0085·\0·=·"\\\n'.split('·'),
];

/** YAML as text; what is printed of it is read as the same. */
export const yamlTarget: FuzzTarget = {
  name: 'yaml',
  words: yamlWords,
  testRuns: 400,
  open: () => ({
    run: (bytes) => {
      try {
        const value = parseYaml(bytes.toString());
        const printed = printJson(value);
        // Aliases are written out each time, so that what was short may be longer than may be read.
        const isShort = printed.length < 100_000;
        mustHold(
          !isShort || printJson(parseYaml(yamlDocument(value))) === printed,
          'what is printed is read as the same',
        );
        return `value ${printed.slice(0, 40)}`;
      } catch (error) {
        if (!(error instanceof YamlSyntaxError)) throw error;
        const { line, column } = error.place;
        mustHold(line >= 1 && column >= 1 && error.reason !== '', 'a fault has a place and a reason');
        return error.reason;
      }
    },
  }),
};
