import string

def shout(text):
    print "loud", text
    try:
        return string.upper(text)
    except ValueError, error:
        return `error`
