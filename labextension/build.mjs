// Bundles the widgets and the sidebar into the Python package, or (`--tests`) the tests into lib/.
//
// esbuild takes the types away, so that a user's build needs none of JupyterLab's packages;
// JupyterLab's own builder then makes of the sidebar what JupyterLab loads. The first line of
// timeline.js names the digest of what all were made from, so that hatch_build.py can tell
// whether they are up to date without asking for file times.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const python = join(here, '..', 'nbckpt');
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
  legalComments: 'none',
  loader: { '.svg': 'text' },
  logLevel: 'warning',
  plugins: [styleAsText],
  target: 'es2021'
};

/** Digest of all that the bundles depend on; `sources_digest` in hatch_build.py is its twin. */
function sourcesDigest() {
  const files = ['../nbckpt/version.py', 'build.mjs', 'install.json', 'package.json'];
  files.push('package-lock.json');
  for (const folder of ['schema', 'src', 'style']) {
    for (const entry of readdirSync(join(here, folder), { recursive: true, withFileTypes: true })) {
      const path = relative(here, join(entry.parentPath ?? entry.path, entry.name));
      if (entry.isFile() && !path.includes('__tests__')) {
        files.push(path.split(sep).join('/'));
      }
    }
  }
  const digest = createHash('sha256');
  for (const path of files.sort()) {
    digest.update(`${path}\n`).update(readFileSync(join(here, path)));
  }
  return digest.digest('hex');
}

async function buildTests() {
  const folder = join(here, 'src', '__tests__');
  await esbuild.build({
    ...shared,
    entryPoints: readdirSync(folder)
      .filter(name => name.endsWith('.test.ts'))
      .map(name => join(folder, name)),
    outdir: 'lib/tests',
    outExtension: { '.js': '.mjs' },
    packages: 'external',
    platform: 'node',
    sourcemap: 'inline'
  });
}

/** Put what JupyterLab loads into `nbckpt/labextension`. */
async function buildSidebar() {
  await esbuild.build({
    ...shared,
    entryPoints: ['src/sidebar/index.ts'],
    outdir: 'lib/sidebar',
    external: ['@jupyterlab/*', '@lumino/*']
  });
  const modules = join(here, 'node_modules');
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [
      join(modules, '@jupyter/builder/lib/build-labextension.js'),
      '--core-package-file',
      join(modules, '@jupyterlab/core-meta/core.package.json'),
      here
    ],
    { cwd: here, encoding: 'utf8' }
  );
  if (status !== 0) {
    throw new Error(`the builder of JupyterLab failed: ${stderr}${stdout}`);
  }
  const built = join(here, 'lib', 'labextension');
  describe(join(built, 'package.json'));
  describe(join(built, 'schemas', 'nbckpt', 'package.json.orig'));
  cpSync(join(here, 'install.json'), join(built, 'install.json'));
  swap(built, join(python, 'labextension'));
}

/** Leave in a built package.json what JupyterLab asks for, with the version of nbckpt. */
function describe(path) {
  const { name, description, license, jupyterlab } = JSON.parse(readFileSync(path, 'utf8'));
  const [, version] = /^__version__ = "(.+)"$/m.exec(
    readFileSync(join(python, 'version.py'), 'utf8')
  );
  const { extension, schemaDir, _build } = jupyterlab;
  const described = { name, version, description, license };
  described.jupyterlab = { extension, schemaDir, _build };
  writeFileSync(path, `${JSON.stringify(described, null, 2)}\n`);
}

/** A page that loads meanwhile finds the old folder or the new one, but for an instant. */
function swap(built, target) {
  const old = join(here, 'lib', `old-${process.pid}`);
  if (existsSync(target)) {
    renameSync(target, old);
  }
  renameSync(built, target);
  rmSync(old, { recursive: true, force: true });
}

/** Make one file of `source` that a kernel sends to a page; `name` is that of the file. */
async function buildWidget(source, name, digest) {
  const target = join(python, 'jupyter', 'static', name);
  const built = await esbuild.build({
    ...shared,
    entryPoints: [source],
    write: false,
    banner: { js: `// sources ${digest}` },
    minify: true
  });
  // Renamed into place: a kernel that starts meanwhile reads the old file or the new one.
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(`${target}.new`, built.outputFiles[0].contents);
  renameSync(`${target}.new`, target);
}

if (process.argv.includes('--tests')) {
  await buildTests();
} else {
  // Taken first and written last: what is edited meanwhile makes all of it old.
  const digest = sourcesDigest();
  await buildSidebar();
  await buildWidget('src/approval.ts', 'approval.js', digest);
  await buildWidget('src/widget.ts', 'timeline.js', digest);
}
