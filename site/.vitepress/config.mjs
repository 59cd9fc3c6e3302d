// The site shows README.md and docs as they stand. Links that leave them lead to the
// repository; a link to a file that does not exist fails the build.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'

const top = fileURLToPath(new URL('../..', import.meta.url))
const repository = 'https://github.com/snowlease/snowlease'
const read = (file) => readFileSync(join(top, file), 'utf8')

// rewrite returns the path on the site of a page of the repository.
const rewrite = (file) => file
  .replace(/^(docs|site)\//, '')
  .replace(/^README\.(?:(.+)\.)?md$/, (_, language) => join(language ?? '', 'index.md'))

// locate returns where a link of a page leads on the site.
function locate(page, link) {
  if (/^([a-z]+:|#)/.test(link)) return link
  const [path, fragment] = decodeURI(link).split('#')
  const file = relative(top, resolve(dirname(page), path))
  if (file.startsWith('..') || !existsSync(join(top, file))) throw new Error(`${relative(top, page)} links to ${link}: there is no such file`)
  const to = /^(README[^/]*|docs\/.*)\.md$/.test(file) ? `/${rewrite(file)}` : `${repository}/tree/main/${file}`
  return fragment ? `${to}#${fragment}` : to
}

// sidebar lists the pages of docs with their first headings. Groups and order are those of
// the table that ends the README; what it does not list follows.
function sidebar(readme, more, design) {
  const text = read(readme).split('\n## ').at(-1)
  const groups = {}
  for (const [folder, rest] of [['docs', more], ['docs/design', design]]) {
    const pages = readdirSync(join(top, folder)).filter((name) => name.endsWith('.md')).map((name) => {
      const translated = `docs/zh-CN/${name}`
      const page = folder === 'docs' && readme !== 'README.md' && existsSync(join(top, translated)) ? translated : `${folder}/${name}`
      const at = text.lastIndexOf(`](${page})`)
      const row = text.slice(text.lastIndexOf('\n', at) + 1).match(/^\| (.+?) \|/)
      return { page, at: at < 0 ? text.length : at, group: folder === 'docs' && at >= 0 && row ? row[1] : rest }
    })
    for (const { page, group } of pages.sort((a, b) => a.at - b.at)) {
      (groups[group] ??= []).push({ text: read(page).match(/^# (.+)/m)[1], link: `/${rewrite(page)}` })
    }
  }
  return Object.entries(groups).map(([text, items]) => ({ text, items }))
}
const english = sidebar('README.md', 'more', 'design')
const chinese = sidebar('README.zh-CN.md', '更多', '设计')

export default defineConfig({
  title: 'snowlease',
  description: 'Unique, time-ordered 64-bit ids for Go',
  srcDir: '..',
  srcExclude: ['!(docs|site)/**/*', '!(README*).md'],
  rewrites: rewrite,
  // The pages are not below site, where Vue is.
  vite: { plugins: [{
    name: 'vue-of-site', enforce: 'pre',
    resolveId(id) { if (/^vue(\/|$)/.test(id)) return this.resolve(id, join(top, 'site/package.json'), { skipSelf: true }) },
  }] },
  markdown: {
    // GitHub's rule, since the pages link to headings by it.
    anchor: { slugify: (heading) => heading.toLowerCase().replace(/[^\p{L}\p{N}\- _]/gu, '').replaceAll(' ', '-') },
    config: (md) => md.core.ruler.push('links', ({ tokens, env }) => {
      for (const token of tokens.flatMap((block) => block.children ?? [])) {
        if (token.type === 'link_open') token.attrSet('href', locate(env.realPath ?? env.path, token.attrGet('href')))
      }
    }),
  },
  locales: {
    root: { label: 'English', lang: 'en', themeConfig: { sidebar: english, nav: [{ text: 'Decoder', link: '/decoder' }] } },
    'zh-CN': {
      label: '中文', lang: 'zh-CN', description: '为 Go 服务生成唯一、随时间递增的 64 位 ID',
      themeConfig: {
        sidebar: chinese, nav: [{ text: 'ID 解码', link: '/zh-CN/decoder' }],
        outline: { label: '本页内容' }, docFooter: { prev: '上一页', next: '下一页' }, sidebarMenuLabel: '菜单', returnToTopLabel: '回到顶部',
      },
    },
  },
  themeConfig: {
    i18nRouting: false, // most pages have no translation
    socialLinks: [{ icon: 'github', link: repository }],
    search: {
      provider: 'local',
      options: {
        locales: { 'zh-CN': { translations: { button: { buttonText: '搜索' }, modal: { noResultsText: '没有结果：' } } } },
        // Chinese has no spaces between words.
        miniSearch: { options: {
          tokenize: (text) => [...new Intl.Segmenter('zh-CN', { granularity: 'word' }).segment(text)].filter((s) => s.isWordLike).map((s) => s.segment),
        } },
      },
    },
  },
  buildEnd({ pages }) {
    const links = [english, chinese].flat().flatMap((group) => group.items).map((item) => item.link)
    const missing = pages.filter((page) => page.startsWith('docs/') && !links.includes(`/${rewrite(page)}`))
    if (missing.length) throw new Error(`the sidebar lacks ${missing}`)
  },
})
