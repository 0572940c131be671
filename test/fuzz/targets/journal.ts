import { crc32 } from 'node:zlib';
import { journalRecords, readJournal } from '../../../src/bulk/journal-read.ts';
import { listRuns, runStatus } from '../../../src/bulk/runs.ts';
import { powerLossDisk } from '../../support/power-loss.ts';
import { type FuzzTarget, failureWords, mustHold } from '../target.ts';
import { jsonWords } from './words.ts';

const path = '/runs/20261120-101530-k3f9.a1b2c3d4e5f60718.journal';
const records = '"B"·"I"·"N"·"D"·"F"·"X"·"U"·"R"·"T"·"E"·"applied"·"skipped"·["D",1,"i",null,3]'.split('·');

/** The record of a run: whole, torn, damaged, or of lines that contradict each other and are as they were written. */
export const journalTarget: FuzzTarget = {
  name: 'journal',
  words: [
    ...jsonWords,
    ...records,
    '["I",1,1,1,null,"aaaaaaaaaaaaaaaa"]',
    '\n',
    '00000000 ',
    '\0'.repeat(64),
    '"rows":1',
  ],
  fix: withChecksums,
  testRuns: 1500,
  open: () => ({
    run: async (bytes) => {
      const { io, put } = powerLossDisk();
      put(path, bytes);
      const [listed] = await listRuns('/runs', { boot: 'here', io });
      try {
        const replay = await readJournal(path, { boot: 'here', io });
        if (replay === undefined) return 'no run was begun';
        const { header, counts, lengthBytes, tornBytes } = replay;
        mustHold(lengthBytes + tornBytes === bytes.length, 'every byte is of a line, or of a tear');
        const lines = bytes.subarray(0, lengthBytes);
        mustHold(withChecksums(lines).equals(lines), 'no line is read whose checksum is another one');
        const states = new Set<string>();
        for (let row = 1; row <= Math.min(header.input.rows, 1000); row += 1) states.add(replay.stateOf(row));
        let count = 0;
        for await (const { timeMs } of journalRecords(path, io)) count += timeMs >= 0 ? 1 : 0;
        mustHold(runStatus(listed?.counts) !== 'damaged', 'what can be read is in the list');
        const many = [...replay.doubts()].length;
        mustHold(many === counts.inDoubt, 'the rows in doubt are those that are counted');
        return `${[...states].sort().join(' ')}; ${Math.min(9, many)} in doubt; ${Math.min(9, count)} records; torn ${tornBytes > 0}`;
      } catch (error) {
        return failureWords(error, ['local-file']);
      }
    },
  }),
};

/** Each line with the checksum of its current contents, which continues that of the line before from version 2 on. */
function withChecksums(bytes: Buffer): Buffer {
  const isChained = !/^[^\n]*"version":1[,}]/.test(bytes.toString('latin1'));
  const lines: Buffer[] = [];
  let seed = 0;
  for (let start = 0; start < bytes.length; ) {
    const lineEnd = bytes.indexOf(0x0a, start);
    const end = lineEnd === -1 ? bytes.length : lineEnd;
    const json = bytes.subarray(Math.min(end, start + 9), end);
    const checksum = crc32(json, seed);
    if (isChained) seed = checksum;
    lines.push(Buffer.from(`${checksum.toString(16).padStart(8, '0')} `), json, bytes.subarray(end, end + 1));
    start = end + 1;
  }
  return Buffer.concat(lines);
}
