// Lets Node 22.18 or newer import the sources as they are, without packages: they name each other without an extension.
import { registerHooks } from 'node:module';

registerHooks({
  resolve: (name, context, next) => next(name.startsWith('.') && !/\.\w+$/.test(name) ? name + '.ts' : name, context),
});
