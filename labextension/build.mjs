// Bundles the widget into the Python package, or (`--tests`) the tests into lib/.
//
// The first line of the bundle names the digest of what it was made from, so that
// hatch_build.py can tell whether it is up to date without asking for file times.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
/** A style sheet becomes a text in the module, so that the module is the only file. */
const styleAsText = {
  name: 'style-as-text',
  setup(build) {
    build.onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await esbuild.transform(readFileSync(path, 'utf8'), {
        loader: 'css',
        minify: true
      });
      return { contents: code.trim(), loader: 'text' };
    });
  }
};
const shared = {
  absWorkingDir: here,
  bundle: true,
  charset: 'utf8',
  format: 'esm',
  logLevel: 'warning',
  plugins: [styleAsText]
};

/** Digest of all that the bundle depends on; `sources_digest` in hatch_build.py is its twin. */
function sourcesDigest() {
  const files = ['build.mjs', 'package-lock.json'];
  for (const entry of readdirSync(join(here, 'src'), { recursive: true, withFileTypes: true })) {
    const path = relative(here, join(entry.parentPath ?? entry.path, entry.name));
    if (entry.isFile() && !path.includes('__tests__')) {
      files.push(path.split(sep).join('/'));
    }
  }
  const digest = createHash('sha256');
  for (const path of files.sort()) {
    digest.update(`${path}\n`).update(readFileSync(join(here, path)));
  }
  return digest.digest('hex');
}

if (process.argv.includes('--tests')) {
  const folder = join(here, 'src', '__tests__');
  await esbuild.build({
    ...shared,
    entryPoints: readdirSync(folder)
      .filter(name => name.endsWith('.test.ts'))
      .map(name => join(folder, name)),
    outdir: 'lib',
    outExtension: { '.js': '.mjs' },
    platform: 'node',
    sourcemap: 'inline'
  });
} else {
  const target = join(here, '..', 'nbckpt', 'jupyter', 'static', 'timeline.js');
  const built = await esbuild.build({
    ...shared,
    entryPoints: ['src/widget.ts'],
    write: false,
    banner: { js: `// sources ${sourcesDigest()}` },
    legalComments: 'none',
    minify: true,
    target: 'es2021'
  });
  // Renamed into place: a kernel that starts meanwhile reads the old file or the new one.
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(`${target}.new`, built.outputFiles[0].contents);
  renameSync(`${target}.new`, target);
}
