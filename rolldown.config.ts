import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { defineConfig, type Plugin } from 'rolldown';
import { manPages } from './test/docs/man-pages.ts';

/**
 * What ships: CommonJS, because the ESM loader costs a start 6 ms; three files for a command on one item, with chunks
 * beside them for what loads late. Names are kept, so that a bug report can be read; the source maps for its positions are
 * made but not published, since a build of the same version makes them again.
 */
export default defineConfig({
  input: { listctl: 'src/main.ts' },
  platform: 'node',
  external: ['lmdb'],
  // Chunks may take what they share with the entry from the entry: each further file costs a start 0.3 ms.
  preserveEntrySignatures: 'allow-extension',
  plugins: [
    ...[packageFacts(), commanderAsModules(), confWithoutSchemas(), confWithoutHome()],
    ...[plainExports(), thirdPartyLicenses(), withoutMapsOfOthers(), manPagesOfTheProgram(), packable()],
  ],
  output: {
    dir: 'dist',
    cleanDir: true,
    format: 'cjs',
    // One letter beyond Latin 1 would make a text of two bytes a letter, which is slower to read.
    charset: 'ascii',
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name].cjs',
    sourcemap: true,
    // Lines and names are enough for a stack; the sources themselves would double what is installed.
    sourcemapExcludeSources: true,
    minify: { mangle: { keepNames: true }, compress: true, codegen: true },
    codeSplitting: {
      groups: [
        // What a command on one item loads, in three files: each further file costs a start 0.3 ms. `--version` and
        // `--help` need the first, a request the last.
        {
          name: 'listctl',
          test: /\/src\/(main|program|core\/(host|streams|errors)|cli\/(command|flags))\.ts$|\/commander\//,
          priority: 2,
        },
        {
          name: 'items',
          test: /\/src\/(commands\/items\/items|cli\/report)\.ts$/,
          includeDependenciesRecursively: true,
          priority: 1,
        },
        { name: 'http', test: /\/src\/api\/http\.ts$/, includeDependenciesRecursively: true },
      ],
    },
  },
});

/** Of our own package.json what the program asks of it: the rest would be read at every start. */
function packageFacts(): Plugin {
  const file = join(import.meta.dirname, 'package.json');
  return {
    name: 'package-facts',
    load: (id) => {
      if (id !== file) return null;
      const { version, engines } = JSON.parse(readFileSync(file, 'utf8'));
      return { code: JSON.stringify({ version, engines }), moduleType: 'json' };
    },
  };
}

/** conf checks settings against a JSON schema where it is given one. It is given none here, so ajv stays at home: 190 kB. */
function confWithoutSchemas(): Plugin {
  const nothing = '\0no-schemas';
  return {
    name: 'conf-without-schemas',
    resolveId: (source, importer) =>
      /^ajv(-formats$|\/)/.test(source) && importer?.includes('/node_modules/conf/') ? nothing : null,
    load: (id) => (id === nothing ? 'export const Ajv2020 = undefined;\nexport default undefined;' : null),
  };
}

/** conf loads env-paths for directories that it is always told here. That asks for the home, and throws where there is none. */
function confWithoutHome(): Plugin {
  const nothing = '\0no-env-paths';
  return {
    name: 'conf-without-home',
    resolveId: (source, importer) =>
      source === 'env-paths' && importer?.includes('/node_modules/conf/') ? nothing : null,
    load: (id) => (id === nothing ? 'export default undefined;' : null),
  };
}

/**
 * commander is CommonJS. A bundle keeps that in functions, which V8 parses twice: 2 ms of a start; as ES modules it is
 * parsed once. What starts executables for subcommands stays out, since listctl has none: child_process takes 1 ms more.
 */
function commanderAsModules(): Plugin {
  const names = ['command.js', 'help.js', 'option.js', 'error.js'];
  return {
    name: 'commander-as-modules',
    transform: (code, id) => {
      if (id.endsWith('/commander/esm.mjs')) return names.map((name) => `export * from './lib/${name}';`).join('\n');
      if (!id.includes('/commander/lib/')) return null;
      const exported = Array.from(code.matchAll(/^exports\.(\w+) = \1;/gm), ([, name]) => name);
      const asModule = code
        .replace("const childProcess = require('node:child_process');", 'const childProcess = {};')
        .replace("const process = require('node:process');", '')
        .replace(/^const (\{.*\}) = require\('(\.\/\w+)(?:\.js)?'\);$/gm, "import $1 from '$2.js';")
        .replace(/^exports\.\w+ = \w+;.*$/gm, '');
      if (/require\('\.|^exports\./m.test(asModule))
        throw new Error(`${id} is written in a way that is not known here`);
      return { code: `${asModule}\nexport { ${exported.join(', ')} };\n`, map: null };
    },
  };
}

/**
 * Exports as plain members of a chunk. A bundler writes a getter for each, since a module may reassign what it exports:
 * none here does, and 120 getters are 1 % of the instructions of a start.
 */
function plainExports(): Plugin {
  const getter = /Object\.defineProperty\(exports,("[^"]+"),\{enumerable:!0,get:function\(\)\{return ([\w$]+)\}\}\)/g;
  return {
    name: 'plain-exports',
    generateBundle(_, bundle) {
      for (const chunk of Object.values(bundle)) {
        if (chunk.type === 'chunk') chunk.code = chunk.code.replace(getter, 'exports[$1]=$2');
      }
    },
  };
}

/** A chunk that is mostly a library's has names, and no source map: a stack in it is that library's, and half a megabyte. */
function withoutMapsOfOthers(): Plugin {
  return {
    name: 'without-maps-of-others',
    generateBundle(_, bundle) {
      for (const chunk of Object.values(bundle)) {
        if (chunk.type !== 'chunk') continue;
        const lengths = { ours: 0, others: 0 };
        for (const [id, { renderedLength }] of Object.entries(chunk.modules)) {
          lengths[id.includes('/node_modules/') ? 'others' : 'ours'] += renderedLength;
        }
        if (lengths.others < 2 * lengths.ours) continue;
        delete bundle[`${chunk.fileName}.map`];
        chunk.code = chunk.code.replace(/\n\/\/# sourceMappingURL=.*\n?$/, '\n');
      }
    },
  };
}

/** `man listctl`: the program that was just built tells of its commands. */
function manPagesOfTheProgram(): Plugin {
  return {
    name: 'man-pages-of-the-program',
    writeBundle() {
      const told = execFileSync(execPath, ['bin/listctl.js', 'help', '--json'], { encoding: 'utf8', env: {} });
      mkdirSync('dist/man');
      for (const { file, text } of manPages(JSON.parse(told))) writeFileSync(join('dist/man', file), text);
    },
  };
}

/** npm reads `.npmignore`, a link to the file that is written here last: without it nothing is packed (decisions, package-1). */
function packable(): Plugin {
  return {
    name: 'packable',
    writeBundle() {
      writeFileSync(
        'dist/.npmignore',
        '# What is packed is in package.json ("files"). This file says that the build is complete.\n',
      );
    },
  };
}

/** What is bundled keeps its license: the texts of all packages in the bundle, in one file beside it. */
function thirdPartyLicenses(): Plugin {
  return {
    name: 'third-party-licenses',
    generateBundle(_, bundle) {
      const modules = Object.values(bundle).flatMap((file) => (file.type === 'chunk' ? Object.keys(file.modules) : []));
      const directories = new Set(
        modules.flatMap((id) => /^.*\/node_modules\/(@[^/]+\/)?[^/]+(?=\/)/.exec(id)?.[0] ?? []),
      );
      const source = [...directories].sort().map(licenseOf).join('\n');
      this.emitFile({ type: 'asset', fileName: 'third-party-licenses.txt', source });
    },
  };
}

function licenseOf(directory: string): string {
  const { name, version, license, homepage } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
  const file = readdirSync(directory).find((each) => /^licen[cs]e/i.test(each));
  const text = file === undefined ? `Licensed under ${license}.` : readFileSync(join(directory, file), 'utf8').trim();
  return `${name} ${version} (${license})${homepage === undefined ? '' : `, ${homepage}`}\n\n${text}\n`;
}
