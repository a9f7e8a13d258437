# Part of the Python driver, compiled into its module on first use: what `from IPython.display import ...` gives where there is no
# IPython.  The objects only carry their data; get_ipython() says, truly, that no IPython runs.
class DisplayObject(object):
    mime, mode = 'text/plain', 'r'

    def __init__(self, data=None, url=None, filename=None, metadata=None, **options):
        if data is not None and type(data).__module__ == 'pathlib' or url is None and isinstance(data, str) and self.mode == 'rb' and os.path.exists(data):
            data, filename = None, data
        if url is None and isinstance(data, str) and data.startswith(('http://', 'https://')):
            data, url = None, data
        self.url, self.filename, self.metadata, self.options = url, filename, metadata, options
        if data is None and filename is not None:
            with (open(filename, 'rb') if self.mode == 'rb' else open(filename, encoding='utf-8')) as f:
                data = f.read()
        self.data = data

    def _repr_mimebundle_(self, include=None, exclude=None):
        if self.data is None and self.url is not None:
            return {'text/plain': repr(self), 'text/html': '<a href="%s">%s</a>' % (quoted(self.url), quoted(self.url))}
        return {'text/plain': repr(self), self.mime: self.data}

    def __repr__(self):
        return '<IPython.display.%s object>' % type(self).__name__


class TextDisplayObject(DisplayObject):
    pass


def quoted(s):
    return std('html').escape(str(s))


def kind_of_display(name, mime, base=TextDisplayObject, **more):
    return type(name, (base,), dict(more, mime=mime, __module__='IPython.display'))


HTML = kind_of_display('HTML', 'text/html', _repr_html_=lambda self: self.data, __html__=lambda self: self.data)
Markdown = kind_of_display('Markdown', 'text/markdown', _repr_markdown_=lambda self: self.data)
Latex = kind_of_display('Latex', 'text/latex', _repr_latex_=lambda self: self.data)
SVG = kind_of_display('SVG', 'image/svg+xml', _repr_svg_=lambda self: self.data)
Javascript = kind_of_display('Javascript', 'application/javascript')
GeoJSON = kind_of_display('GeoJSON', 'application/geo+json', DisplayObject)


class Math(Latex):
    def __init__(self, data=None, **options):
        super(Math, self).__init__(data, **options)
        self.data = '$\\displaystyle %s$' % str(self.data).strip('$ ')


class Pretty(TextDisplayObject):
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {'text/plain': self.data}


class Code(TextDisplayObject):
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {'text/plain': self.data, 'text/html': '<pre>%s</pre>' % quoted(self.data)}


class JSON(DisplayObject):
    mime = 'application/json'

    def __init__(self, data=None, **options):
        super(JSON, self).__init__(data, **options)
        if isinstance(self.data, str):
            self.data = std('json').loads(self.data)


class Binary(DisplayObject):
    mode, types = 'rb', {}

    def __init__(self, data=None, url=None, filename=None, format=None, **options):
        super(Binary, self).__init__(data, url, filename, **options)
        d = self.data if isinstance(self.data, (bytes, bytearray)) else b''
        kind = format or options.get('mimetype') or next((t for start, t in self.types if d[:len(start)] == start or d[4:8] == start), self.mime)
        self.mime = kind if '/' in kind else '%s/%s' % (self.mime.partition('/')[0], {'jpg': 'jpeg', 'svg': 'svg+xml'}.get(kind.lower(), kind.lower()))


class Image(Binary):
    mime = 'image/png'
    types = ((b'\x89PNG', 'image/png'), (b'\xff\xd8', 'image/jpeg'), (b'GIF8', 'image/gif'), (b'RIFF', 'image/webp'), (b'BM', 'image/bmp'), (b'<svg', 'image/svg+xml'))

    def _repr_mimebundle_(self, include=None, exclude=None):
        if self.data is None and self.url is not None:
            return {'text/plain': repr(self), 'text/html': '<img src="%s"/>' % quoted(self.url)}
        return super(Image, self)._repr_mimebundle_()

    def _repr_png_(self):
        return self.data if self.mime == 'image/png' else None

    def _repr_jpeg_(self):
        return self.data if self.mime == 'image/jpeg' else None


class Video(Binary):
    mime, types = 'video/mp4', ((b'\x1aE\xdf\xa3', 'video/webm'), (b'ftyp', 'video/mp4'))


class Audio(Binary):
    mime, types = 'audio/wav', ((b'RIFF', 'audio/wav'), (b'OggS', 'audio/ogg'), (b'ID3', 'audio/mpeg'), (b'fLaC', 'audio/flac'))

    def __init__(self, data=None, filename=None, url=None, rate=None, **options):
        if data is not None and not isinstance(data, (str, bytes, bytearray)) and type(data).__module__ != 'pathlib':
            data = self.wave(data, rate)
        super(Audio, self).__init__(data, url, filename, **options)

    @staticmethod
    def wave(samples, rate):
        if not rate:
            raise ValueError('rate must be given when samples are')
        channels = [list(c) for c in samples] if hasattr(next(iter(samples), 0), '__len__') else [list(samples)]
        loudest = max((abs(x) for c in channels for x in c), default=0) or 1
        pcm = std('array').array('h', [int(x / loudest * 32767) for frame in zip(*channels) for x in frame])
        b = _io.BytesIO()
        with std('wave').open(b, 'wb') as w:
            w.setnchannels(len(channels))
            w.setsampwidth(2)
            w.setframerate(int(rate))
            w.writeframes(pcm.tobytes())
        return b.getvalue()


class IFrame(object):
    def __init__(self, src, width, height, **options):
        self.src, self.width, self.height = src, width, height

    def _repr_html_(self):
        return '<iframe width="%s" height="%s" src="%s"></iframe>' % (quoted(self.width), quoted(self.height), quoted(self.src))


class YouTubeVideo(IFrame):
    def __init__(self, id, width=400, height=300, **options):
        super(YouTubeVideo, self).__init__('https://www.youtube.com/embed/%s' % id, width, height)


class FileLink(object):
    def __init__(self, path, **options):
        self.path = str(path)

    def _repr_html_(self):
        return '<a href="%s">%s</a>' % (quoted(self.path), quoted(self.path))

    def __repr__(self):
        return self.path


class FileLinks(FileLink):
    def _repr_html_(self):
        return '<br>'.join(FileLink(os.path.join(d, f))._repr_html_() for d, _, names in os.walk(self.path) for f in sorted(names)[:1000])


class ProgressBar(object):
    def __init__(self, total):
        self.total, self.progress, self.display_id = total, 0, 'progress-%x' % id(self)

    def __repr__(self):
        return '[%-40s] %s/%s' % ('=' * int(40 * self.progress / (self.total or 1)), self.progress, self.total)

    def display(self):
        display(self, display_id=self.display_id)

    def update(self):
        update_display(self, display_id=self.display_id)

    def __iter__(self):
        self.display()
        for i in range(self.total):
            yield i
            self.progress = i + 1
            self.update()


def shower(make):
    def show(*objects, **options):
        for o in objects:
            display(o if options.get('raw') is False and not isinstance(o, str) else make(o))
    return show


def fill_shim(module):
    d = module.__dict__
    if module.__name__ in ('IPython', 'IPython.core'):
        d.update(_interp_shim=True, get_ipython=lambda: None, version_info=(8, 24, 0, ''), __version__='8.24.0', display=display)
        return
    for c in (DisplayObject, TextDisplayObject, HTML, Markdown, Latex, Math, SVG, Javascript, GeoJSON, JSON, Pretty, Code, Image, Video, Audio, IFrame, YouTubeVideo,
              FileLink, FileLinks, ProgressBar, DisplayHandle):
        if c is not DisplayHandle:
            c.__module__ = 'IPython.display'
        d[c.__name__] = c
    for name, c in (('html', HTML), ('markdown', Markdown), ('latex', Latex), ('svg', SVG), ('json', JSON), ('javascript', Javascript), ('pretty', Pretty), ('png', Image)):
        d['display_' + name] = shower(c)
    d.update(display=display, update_display=update_display, clear_output=clear_output, publish_display_data=publish_display_data,
             set_matplotlib_formats=lambda *formats, **options: None)
