/** The door to conf, which writes settings. It takes 65 ms to load: `import()` this, where something is written. */
import { basename, dirname, extname } from 'node:path';
import Conf from 'conf';

/**
 * Replaces the content of a JSON file. What conf says on success is not enough: it takes a write that was cut short
 * for a whole one (reliability, fact 1), so whoever calls this looks at what is there afterwards.
 *
 * @param file in a folder that is there; what it holds now must be JSON
 * @param text the JSON text of `content`, exactly as it is to be written
 */
export function writeConfFile(file: string, content: Readonly<Record<string, unknown>>, text: string): void {
  const extension = extname(file);
  const conf = new Conf<Record<string, unknown>>({
    cwd: dirname(file),
    configName: basename(file, extension),
    fileExtension: extension.slice(1),
    configFileMode: 0o600,
    accessPropertiesByDotNotation: false,
    clearInvalidConfig: false,
    serialize: () => text,
  });
  conf.store = { ...content };
}
